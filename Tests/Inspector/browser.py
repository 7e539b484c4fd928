"""A browser with the page of an inspector, and the steps of which scenes consist."""

import json
import time
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

CHROMIUM, CHROMEDRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
SECONDS = 15
PICTURED = {
    "collections": ("garage", "#/collections"),
    "table": ("garage", '#/collections/cars/"car-0000009"'),
    "query": ("garage", "#/query?statement=SELECT color, COUNT(*) AS count FROM cars GROUP BY color"),
    "time": ("garage", "#/time/140?collection=owners"),
    "conflicts": ("conflicts", "#/conflicts"),
    "mesh": ("mesh", '#/mesh?collection=cars&id="car-0000009"'),
    "activity": ("mesh", "#/activity"),
    "health": ("mesh", "#/health"),
}

# What is clicked before the picture is taken.
CLICKED = {"mesh": (".answers a", "counter"), "time": (".changes summary",)}


class Page:
    """A browser window with the page of one of the inspectors."""

    def __init__(self, world):
        self.world = world

    def __enter__(self):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,900"]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        service = webdriver.ChromeService(CHROMEDRIVER)
        self.driver = webdriver.Chrome(options=options, service=service)
        self.entered = set()
        self.reset()
        return self

    def __exit__(self, *_):
        self.driver.quit()

    # Steps

    def visit(self, store, route):
        """Opens a route of the inspector of a store, as a new document."""
        url = self.world.url(store)
        parts = urlsplit(url)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.driver.get("about:blank")
        if url not in self.entered:
            self.enter(store)
        self.driver.get(f"{self.origin}/{route}")
        self.find("main .page")

    def enter(self, store):
        """Opens the URL that the inspector of a store has printed, with its token."""
        url = self.world.url(store)
        self.driver.get(url)
        self.entered.add(url)

    def reset(self):
        """Forgets what a scene has changed in the browser."""
        self.failing_requests_allowed = False
        self.size(1280, 900)
        self.media("light")
        if self.driver.current_url.startswith("http"):
            self.run("localStorage.clear(); sessionStorage.clear()")
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get_log("performance")

    def size(self, width, height):
        metrics = dict(width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def media(self, scheme, motion="no-preference"):
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": motion},
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def run(self, script, *values):
        return self.driver.execute_script(script, *values)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def wait(self, condition, what):
        """Waits until a condition holds, and returns its value."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                value = condition()
                if value:
                    return value
            except StaleElementReferenceException:
                # The page has drawn this part again.
                pass
            time.sleep(0.02)
        raise AssertionError(f"not within {SECONDS} s: {what}")

    def find(self, selector, text=None):
        """Waits for a visible element with a text."""
        def found():
            for element in self.all(selector):
                if element.is_displayed() and (text is None or text in element.text):
                    return element
        return self.wait(found, f"{selector} with the text {text!r}")

    def click(self, selector, text=None):
        def clicked():
            self.find(selector, text).click()
            return True
        self.wait(clicked, f"a click on {selector}")

    def text(self, selector):
        return self.find(selector).text

    def gone(self, selector):
        self.wait(lambda: not any(e.is_displayed() for e in self.all(selector)), f"no {selector}")

    def type(self, selector, text, clear=True):
        element = self.find(selector)
        if clear:
            element.clear()
        element.send_keys(text)
        return element

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def chord(self, modifier, key):
        ActionChains(self.driver).key_down(modifier).send_keys(key).key_up(modifier).perform()

    def focused(self, script):
        """Returns a property of the focused element, such as `e.id`."""
        return self.run(f"const e = document.activeElement; return {script}")

    def statement(self, text):
        """Writes a statement into the editor and runs it."""
        self.type("textarea", text)
        self.gone(".words")
        self.chord(Keys.CONTROL, Keys.ENTER)

    # Checks

    def check_quiet(self):
        """Checks that the console has no errors, and that no request went to another host."""
        lines = [line["message"] for line in self.driver.get_log("browser") if line["level"] == "SEVERE"]
        if self.failing_requests_allowed:
            # The browser itself reports each answer of 400 and above.
            lines = [line for line in lines if "Failed to load resource" not in line]
        assert not lines, f"the console has errors: {lines}"
        foreign = [url for url in self.requested() if not self.world.is_own(url)]
        assert not foreign, f"requests to other hosts: {foreign}"

    def requested(self):
        """Returns the URLs of all requests since the last call."""
        for line in self.driver.get_log("performance"):
            message = json.loads(line["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                yield message["params"]["request"]["url"]

    def check_width(self):
        """Checks that the page does not scroll sideways."""
        script = """const m = document.querySelector('main');
            return Math.max(document.documentElement.scrollWidth - innerWidth, m.scrollWidth - m.clientWidth)"""
        excess = self.run(script)
        assert excess <= 0, f"the page is {excess} pixels wider than the window"

    def take_pictures(self, directory):
        """Takes pictures of all pages in three widths, light and dark."""
        directory.mkdir(parents=True, exist_ok=True)
        for width in [1440, 768, 360]:
            for scheme in ["light", "dark"]:
                self.size(width, 900)
                self.media(scheme)
                for name, (store, route) in PICTURED.items():
                    self.visit(store, route)
                    if name in CLICKED:
                        self.click(*CLICKED[name])
                    time.sleep(1.5)
                    self.driver.save_screenshot(str(directory / f"{name}-{width}-{scheme}.png"))
