/* The table of other systems' words (base/foreign.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "base/foreign.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* One foreign word may match several of our names: all of them are offered.  A name of ours with a
 * dot matches only in full. */
static const struct {
    const char *theirs; /* comma-separated */
    const char *ours;
} words[] = {
    /* sizes of models and batches, as Hugging Face, Megatron-LM and torchtitan name them */
    {"hidden-size,embed-dim,embedding-dim,n-embd,hidden-dim,dim,d", "d_model"},
    {"intermediate-size,ffn-hidden-size,ffn-dim,mlp-dim,n-inner", "d_ff"},
    {"num-layers,n-layers,n-layer,num-hidden-layers,nlayers,depth", "layers"},
    {"num-heads,n-heads,n-head,num-attention-heads", "heads"},
    {"num-key-value-heads,n-kv-heads,num-kv-heads,num-query-groups", "kv_heads"},
    {"kv-channels,d-head,d-kv", "head_dim"},
    {"vocab-size,n-vocab,padded-vocab-size", "vocab"},
    {"activation-function,hidden-act,act", "activation"},
    {"seq-len,seq-length,sequence-length,max-seq-len,context-length", "seq"},
    {"global-batch-size,batch-size,train-batch-size,gbs", "batch.size"},
    {"global-batch-size,batch-size,train-batch-size,gbs", "batch"},
    {"micro-batch-size,microbatch-size,per-device-batch-size,mbs", "microbatch"},
    {"micro-batch-size,microbatch-size,per-device-batch-size,mbs,num-microbatches,micro-batches,"
     "grad-accum-steps,gradient-accumulation-steps",
     "microbatches"},
    {"num-experts,n-experts,num-local-experts,n-routed-experts", "experts"},
    {"num-experts-per-tok,moe-router-topk,topk", "top_k"},
    {"torch-dtype,precision", "dtype"},
    {"learning-rate", "lr"},
    {"model-name,model-type,preset", "kind"},
    {"memory-limit,device-memory,hbm", "memory"},
    /* axes */
    {"tensor-parallel,tensor-parallelism,tensor-parallel-size,tensor-model-parallel-size,"
     "tensor-parallel-degree,tp-size,tp-degree,tensor,model,mp",
     "tp"},
    {"data-parallel,data-parallelism,data-parallel-size,data-parallel-replicate-degree,dp-size,"
     "dp-degree,data,replica,ddp",
     "dp"},
    {"data-parallel-shard-degree,fully-shard,dp-shard,zero", "fsdp"},
    {"pipeline-parallel,pipeline-parallelism,pipeline-parallel-size,"
     "pipeline-model-parallel-size,pipeline-parallel-degree,pp-size,pp-degree,pipe,pipeline,"
     "stages,stage",
     "pp"},
    {"context-parallel,context-parallelism,context-parallel-size,context-parallel-degree,cp-size,"
     "cp-degree",
     "cp"},
    {"expert-parallel,expert-parallelism,expert-parallel-size,expert-model-parallel-size,"
     "expert-parallel-degree,ep-size,ep-degree,expert",
     "ep"},
    {"device,devices,num-devices,gpus,num-gpus,n-gpus,ngpus,nodes,num-nodes,nnodes,world-size,"
     "nproc-per-node,topology",
     "mesh"},
    {"num-devices,n-devices,gpus,num-gpus,n-gpus,ngpus,nodes,num-nodes,nnodes,world-size,"
     "nproc-per-node",
     "devices"},
    {"gpu,gpu-type,cluster,machine,accelerator,chip", "hardware"},
    {"none,nil", "null"},
    /* training */
    {"zero-stage,zero-1,zero-2,zero-3,zero1,zero2,zero3,zero-optimization,deepspeed", "zero"},
    {"remat,activation-checkpointing,gradient-checkpointing,activation-checkpoint", "recompute"},
    {"adam,fused-adam", "adamw"},
    {"swish", "silu"},
    {"bf16,bfloat", "bfloat16"},
    {"fp16,half,f16", "float16"},
    {"fp32,float,f32,single", "float32"},
    {"fp64,double,f64", "float64"},
    {"fwd", "forward"},
    {"bwd,grad", "backward"},
    {"opt,optim,optimizer-step", "update"},
    {"weight,weights,w", "kernel"},
    {"partition-specs,specs,sharding,shardings,rules", "params"},
    /* collectives */
    {"psum", "all-reduce"},
    {"psum-scatter", "reduce-scatter"},
    {"alltoall,a2a", "all-to-all"},
    {"bcast", "broadcast"},
    {"ppermute,collective-permute,sendrecv", "permute"},
    /* commands and systems */
    {"simulate,execute,start,launch,train", "run"},
    {"estimate,dry-run,model,predict,cost", "plan"},
    {"diff,versus,vs", "compare"},
    {"optimize,optimise,tune,autotune,best,auto", "search"},
    {"draw,plot,viz,visualize,view,list,print", "show"},
    {"html,dashboard", "report"},
    {"profile,timeline,perfetto", "trace"},
    {"verify,test,lint,validate", "check"},
    {"new,create,generate", "init"},
    {"benchmark,measure", "bench"},
    {"history,results,db", "runs"},
    {"why,describe", "explain"},
    {"torch,dtensor,fsdp2", "pytorch"},
    {"flax,pjit,gspmd,xla", "jax"},
    {"megatron-lm,mcore", "megatron"},
    /* columns of a comparison */
    {"memory,peak,peak-memory,mem", "peak_memory_bytes_most"},
    {"bytes,traffic,communication,comm", "received"},
    {"time,seconds,step-time,latency", "modelled"},
};

static char fold(char c)
{
    return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

static bool same(const char *a, size_t na, const char *b, size_t nb)
{
    if (na != nb)
        return false;
    for (size_t i = 0; i < na; i++)
        if (fold(a[i]) != fold(b[i]))
            return false;
    return true;
}

/* Where the last component of a name begins. */
static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/'), *dot = strrchr(name, '.');

    return slash ? slash + 1 : dot ? dot + 1 : name;
}

static bool is_listed(const char *list, const char *word, size_t length)
{
    for (;;) {
        size_t n = strcspn(list, ",");

        if (same(list, n, word, length))
            return true;
        if (!list[n])
            return false;
        list += n + 1;
    }
}

bool foreign_means(const char *word, const char *ours)
{
    const char *theirs = last_part(word), *mine = last_part(ours);
    size_t before = (size_t)(theirs - word), ntheirs = strlen(theirs);

    if (strchr(word, '/') && !same(word, before, ours, (size_t)(mine - ours)))
        return false;
    if (same(theirs, ntheirs, mine, strlen(mine)))
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *meant = strchr(words[i].ours, '.') ? ours : mine;

        if (same(words[i].ours, strlen(words[i].ours), meant, strlen(meant)) &&
            is_listed(words[i].theirs, theirs, ntheirs))
            return true;
    }
    return false;
}
