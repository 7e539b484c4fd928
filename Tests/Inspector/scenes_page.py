"""Scenes of the page as a whole: widths, colors, the keyboard, and hostile data."""

from selenium.webdriver.common.keys import Keys

ROUTES = {
    "Collections": ("garage", "#/collections"),
    "cars": ("garage", "#/collections/cars"),
    "ann": ("garage", '#/collections/owners/"ann"'),
    "notes": ("garage", "#/collections/notes/1"),
    "Query": ("garage", "#/query?statement=SELECT * FROM notes"),
    "Time": ("garage", "#/time"),
    "Conflicts": ("conflicts", "#/conflicts"),
    "Mesh": ("mesh", "#/mesh"),
    "Activity": ("mesh", "#/activity"),
    "Health": ("mesh", "#/health"),
}


def visit_all(page, check):
    for text, (store, route) in ROUTES.items():
        page.visit(store, route)
        page.find("main", text)
        page.gone(".loading")
        check()


def scene_360(page):
    """no page scrolls sideways in a window of 360 pixels"""
    page.size(360, 740)
    visit_all(page, page.check_width)


def scene_768(page):
    """no page scrolls sideways in a window of 768 pixels"""
    page.size(768, 900)
    visit_all(page, page.check_width)


def scene_1600(page):
    """no page scrolls sideways in a window of 1,600 pixels"""
    page.size(1600, 1000)
    visit_all(page, page.check_width)


def scene_keyboard(page):
    """all pages are reached by the keyboard alone, with a visible focus"""
    page.visit("garage", "#/collections")
    page.run("document.activeElement.blur()")
    page.keys(Keys.TAB)
    assert page.focused("e.textContent") == "Skip to the page"
    page.keys(Keys.TAB)
    assert page.focused("e.id") == "tab-collections"
    for name in ["query", "time", "conflicts", "mesh", "activity", "health"]:
        # The page Query takes the focus for its editor.
        page.run("document.querySelector('[role=tab][aria-selected=true]').focus()")
        page.keys(Keys.ARROW_DOWN)
        page.wait(lambda: page.all(f"#tab-{name}[aria-selected=true]"), f"the page {name}")
        assert f"#/{name}" in page.driver.current_url
    outline = "const e = document.querySelector('.tab:focus-visible'); return e && getComputedStyle(e).outlineStyle"
    page.run("document.querySelector('[role=tab][aria-selected=true]').focus()")
    page.keys(Keys.HOME)
    assert page.run(outline) == "solid"


def scene_skip(page):
    """the first link skips the tabs"""
    page.visit("garage", "#/collections")
    page.run("document.activeElement.blur()")
    page.keys(Keys.TAB, Keys.ENTER)
    assert page.focused("e.id") == "main"


def scene_reload(page):
    """a reload keeps the route, and the back button returns to the one before"""
    page.visit("garage", '#/collections/owners/"ann"')
    page.find(".panel h2", "ann")
    page.driver.refresh()
    page.find(".panel h2", "ann")
    page.click(".tab", "Health")
    page.find("h1", "Health")
    page.driver.back()
    page.find(".panel h2", "ann")


def lightness(page):
    color = page.run("return getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in color[color.index("(") + 1:-1].split(",")[:3]) / 3


def scene_themes(page):
    """the page follows the system, and a switch overrides it"""
    page.visit("garage", "#/collections")
    assert lightness(page) > 200
    page.media("dark")
    assert lightness(page) < 60
    page.click("button.theme")
    page.wait(lambda: lightness(page) > 200, "the light theme")
    page.driver.refresh()
    page.find("h1", "Collections")
    assert lightness(page) > 200


# Returns the visible texts whose contrast is less than that of level AA of WCAG 2.
CONTRAST = """
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const rgba = (color) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const luminance = (color) => {
        const [r, g, b] = color.map((part) => part / 255).map((part) =>
            part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const color = rgba(getComputedStyle(at).backgroundColor);
            if (color[3] === 255) return color;
        }
        return [255, 255, 255];
    };
    const low = [];
    for (const element of document.querySelectorAll('body *')) {
        const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join('').trim();
        if (!text || !element.checkVisibility() || element.closest('.skip, noscript, option, title')) continue;
        const style = getComputedStyle(element);
        const [a, b] = [luminance(rgba(element instanceof SVGElement ? style.fill : style.color)), luminance(ground(element))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) low.push(`${text.slice(0, 30)}: ${ratio.toFixed(2)}`);
    }
    return low;
"""


def scene_contrast(page):
    """texts have the contrast of level AA of WCAG, light and dark"""
    for scheme in ["light", "dark"]:
        page.media(scheme)
        visit_all(page, lambda: check_contrast(page, scheme))


def check_contrast(page, scheme):
    low = page.run(CONTRAST)
    assert not low, f"{scheme}, {page.driver.current_url}: {low}"


def scene_motion(page):
    """nothing moves for readers who prefer less motion"""
    page.media("light", "reduce")
    page.visit("garage", "#/activity")
    moving = """return [...document.querySelectorAll('*')].some((e) => {
        const style = getComputedStyle(e);
        return style.animationName !== 'none' || parseFloat(style.transitionDuration) > 0; })"""
    assert not page.run(moving)


def scene_hostile(page):
    """scripts and HTML in values, names and ids are shown as texts, and do not run"""
    def check():
        assert page.run("return window.hacked") is None
        assert not page.all("main img"), "a value became an image"
        assert page.run("return ({}).polluted") is None

    for route in ["#/collections/notes", "#/collections/notes/1",
                  '#/collections/notes/"<script>window.hacked=1<%2Fscript>"',
                  '#/collections/notes/["a",1]', "#/query?statement=SELECT * FROM notes",
                  "#/collections/<img src=x onerror=window.hacked=1>",
                  "#/mesh?collection=<b>&id=\"<script>\"", "#/time/<b>"]:
        page.visit("garage", route)
        page.gone(".loading")
        check()
    page.visit("garage", "#/collections/notes/1")
    page.find(".tree", "<script>window.hacked=1</script>")


def scene_hostile_names(page):
    """scripts in names of collections and in errors are shown as texts"""
    page.failing_requests_allowed = True
    name = "`<img src=x onerror=window.hacked=1>`"
    page.visit("conflicts", "#/query")
    page.statement(f"INSERT INTO {name} DOCUMENTS ({{ '_id': 1 }})")
    page.find(".result", "1 document changed")
    page.visit("conflicts", "#/collections")
    page.click("td a", "<img src=x")
    page.find(".vrow", "1")
    page.visit("conflicts", "#/query")
    page.statement("SELECT <img src=x onerror=window.hacked=1>")
    page.find(".error")
    assert not page.all("main img") and page.run("return window.hacked") is None


def scene_restart(page):
    """a page shows that its inspector was started again, and resumes after the new URL was opened"""
    page.failing_requests_allowed = True
    page.visit("counter", "#/activity")
    page.find(".connection.live")
    page.world.end_inspector("counter")
    page.find(".connection.offline", "no connection")
    page.size(360, 740)
    page.run("document.querySelector('.store').textContent = 'a-store-with-a-long-name'")
    overlap = """const right = (e) => document.querySelector(e).getBoundingClientRect().right;
        return right('.brand') - document.querySelector('.store').getBoundingClientRect().left"""
    assert page.run(overlap) <= 0, "the name of the store covers the name of the program"
    page.size(1280, 900)
    page.world.restart_inspector("counter")
    page.find(".connection.ended", "session ended")
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    page.enter("counter")
    page.find("main .page")
    page.driver.close()
    page.driver.switch_to.window(first)
    page.find(".connection.live")


def scene_long_texts(page):
    """a long text and a long array are shortened until the reader asks for all"""
    page.visit("garage", '#/collections/notes/["a",1]')
    item = page.find(".tree li", "list")
    assert "[ 1,000 ]" in item.text
    page.visit("garage", '#/collections/notes/"<script>window.hacked=1<%2Fscript>"')
    page.click(".tree button", "all 20,000 characters")
    page.wait(lambda: len(page.text(".tree")) > 20000, "the text")


def scene_policy(page):
    """the page has no inline script or style, and cannot be embedded in another page"""
    page.visit("garage", "#/collections/cars")
    page.find(".vrow")
    html = page.driver.page_source
    assert " style=" not in page.run("return fetch('/').then((answer) => answer.text())")
    assert "<script>" not in html and "onclick=" not in html
    policy = "return fetch('/about').then((answer) => answer.headers.get('content-security-policy'))"
    assert "frame-ancestors 'none'" in page.run(policy)
