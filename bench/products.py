#!/usr/bin/env python3
"""Write a page of the time of matrix products, beside times that others measured.

usage: bench/products.py PROGRAM FILE

Each product is of so many rows by weights of n x k, in 16 bits, on one device; the measured times are
those of the publications that the page names, as tables of TFLOP/s or of microseconds.
"""
import re
import subprocess
import sys
import tempfile

ROWS = (1, 16, 64, 128, 256, 512, 1024, 2048, 4096)
VLLM = "https://github.com/vllm-project/vllm/pull/"
# cluster, n, k, {rows: TFLOP/s}, source
MEASURED = [
    ("h100-sxm", 8192, 8192, {1: 2.30}, "https://github.com/inclusionAI/humming/pull/2 (torch, float16)"),
    ("h100-sxm", 6144, 4096, {1: 2.513, 16: 39.11, 64: 160.59, 128: 307.85, 256: 544.33}, VLLM + "17126 (torch)"),
    ("h100-sxm", 2112, 7168, {1: 3.059, 16: 49.60, 64: 163.47, 128: 275.74, 256: 401.86, 512: 566.26, 1024: 619.77,
                              2048: 648.19, 4096: 715.78}, VLLM + "23280 (torch)"),
    ("h100-sxm", 12288, 5376, {1: 2.870, 16: 46.54, 64: 182.59, 128: 352.56}, VLLM + "49363 (torch)"),
    ("h100-sxm", 43008, 5376, {1: 3.072, 16: 48.33, 64: 187.99, 128: 364.75, 256: 593.26}, VLLM + "49363 (torch)"),
    ("b200", 8192, 8192, {}, ""),
    ("b200", 6144, 4096, {1: 5.910, 16: 94.85, 64: 402.61, 128: 727.34, 256: 1111.90, 512: 1337.77, 1024: 1432.97},
     VLLM + "18778 (torch)"),
    ("b200", 4096, 4096, {1: 2.736, 16: 72.86, 64: 286.30, 128: 561.33, 256: 892.90, 512: 1335.79, 1024: 1362.67,
                          2048: 1444.42}, VLLM + "19566 (torch)"),
    ("b200", 28672, 4096, {1: 5.808, 16: 83.89, 64: 327.39, 128: 628.63, 256: 1053.58}, VLLM + "20071 (torch)"),
    ("mi300x", 8192, 8192, {1024: 568.6}, "https://github.com/facebookexperimental/triton/pull/2891 (aten)"),
    ("mi300x", 8192, 12288, {1: 2 * 8192 * 12288 / 61.53e6},
     "https://github.com/ROCm/rocm-libraries/pull/12329 (hipBLASLt, float16)"),
    ("mi300x", 13312, 17792, {1: 2 * 13312 * 17792 / 118.96e6}, "the same"),
    ("mi300x", 4096, 11008, {1: 2 * 4096 * 11008 / 32.77e6}, "the same"),
    ("mi300x", 4096, 4096, {4096: 612.3}, "https://github.com/facebookexperimental/triton/pull/2891 (aten)"),
    ("mi300x", 2048, 2048, {2048: 330.4}, "the same"),
    ("a100-sxm", 8192, 8192, {}, ""),
    ("a100-sxm", 512, 512, {512: 23.83}, "https://github.com/triton-lang/triton/issues/7085 (cuBLAS, float16)"),
    ("a100-sxm", 1024, 1024, {1024: 99.86}, "the same"),
    ("a100-sxm", 2048, 2048, {2048: 143.395}, "https://github.com/triton-lang/triton/issues/6523 (cuBLAS, float16)"),
    ("a100-sxm", 2560, 2560, {2560: 161.419}, "the same"),
]
SCENARIO = """version: 1
name: product
mesh: {x: 1}
hardware: %s
model: {dtype: bfloat16}
graph:
  dims: {b: %d, k: %d, n: %d}
  inputs: {x: [b, k]}
  params: {w: [k, n]}
  ops:
    - y[b,n] = einsum(x[b,k], w[k,n])
step: [forward]
params: [[.*, []]]
"""


def modelled(program, cluster, rows, n, k):
    """Microseconds of a matmul, and its bound."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(SCENARIO % (cluster, rows, k, n))
        f.flush()
        text = subprocess.run([program, "explain", "--roofline", f.name], stdout=subprocess.PIPE, check=True).stdout.decode()
    time, unit, bound = re.search(r"^y/einsum .* ([0-9.]+) ([mun]s) +100.0 % +(\w+)$", text, re.M).groups()
    return float(time) * {"m": 1e3, "u": 1, "n": 1e-3}[unit[0]], bound


def main():
    program, path = sys.argv[1:]
    out = ["# Matmuls of few and many rows\n",
           "Made by `bench/products.py`: a matmul of the given rows with weights of n x k, in 16 bits, on one device, in us. "
           "*Modelled* and *bound by* are from `explain --roofline` on the shipped file, which was not fitted to these "
           "figures; *measured* is from the named source. Measurements that repeat one matmul "
           "keep weights smaller than the cache in the cache (50 MB on an H100, 126 MB on a B200, 256 MB on an MI300X).\n",
           "| cluster | n x k | rows | modelled | bound by | measured | modelled/measured | source |",
           "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for cluster, n, k, rates, source in MEASURED:
        for rows in sorted({*ROWS, *rates}):
            us, bound = modelled(program, cluster, rows, n, k)
            was = 2 * rows * n * k / rates[rows] * 1e-6 if rows in rates else 0
            tail = f"{was:.1f} | {us / was:.2f} | {source}" if was else "- | - | -"
            out.append(f"| {cluster} | {n} x {k} | {rows} | {us:.1f} | {bound} | {tail} |")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
