"""Debian's chromium, driven by its own driver: nothing is downloaded."""

import base64
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
)


def need_browser() -> None:
    """Skip where there is no browser, and fail where one is required, as in .ci/run."""
    if CHROMIUM.exists() and DRIVER.exists():
        return
    if os.environ.get("PYROCLUST_BROWSER") == "required":
        pytest.fail(f"PYROCLUST_BROWSER is 'required', but {CHROMIUM} or {DRIVER} is missing")
    pytest.skip(f"needs {CHROMIUM} and {DRIVER}: apt-get install chromium chromium-driver")


@contextmanager
def browsing(folder: Path) -> Iterator["Browser"]:
    """Start a browser whose files all lie in one folder, and end it."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(DRIVER)))
    try:
        yield Browser(driver)
    finally:
        driver.quit()


class Browser:
    """What the tests ask of a browser."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def command(self, name: str, **values: Any) -> dict[str, Any]:
        return self.driver.execute_cdp_cmd(name, values)

    def show(self, path: Path, *, width: int, scheme: str) -> None:
        """Open a page, with logs that begin with it."""
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        self.command(
            "Emulation.setEmulatedMedia",
            features=[{"name": name, "value": value} for name, value in features.items()],
        )
        self.driver.get("about:blank")
        for log in ("browser", "performance"):
            self.driver.get_log(log)
        self.driver.get(path.as_uri())

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Return every address that was asked for since the page was shown, but those inside the page."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [one for one in messages if one["method"] == "Network.requestWillBeSent"]
        addresses = [one["params"]["request"]["url"] for one in sent]
        return [one for one in addresses if not one.startswith("data:")]

    def told(self) -> list[tuple[str, str]]:
        """Return role and name of all that a screen reader is told, once the tree has stopped growing.

        The browser builds the tree beside the page: on a busy machine the first answers lack its end, the
        footer (role contentinfo).
        """
        end, before = time.monotonic() + 60, None
        while True:
            nodes = self.command("Accessibility.getFullAXTree")["nodes"]
            found = [
                (node["role"]["value"], node.get("name", {}).get("value", ""))
                for node in nodes
                if not node["ignored"]
            ]
            if (
                found == before and any(role == "contentinfo" for role, _ in found)
            ) or time.monotonic() > end:
                return found
            before = found
            time.sleep(0.2)

    def press(self, *keys: str) -> None:
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def printed(self) -> bytes:
        """Return the page as PDF; a picture first, since a page not yet painted prints in part."""
        self.command("Page.captureScreenshot")
        return base64.b64decode(self.command("Page.printToPDF", printBackground=False)["data"])
