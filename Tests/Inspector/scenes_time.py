"""Scenes of the pages Time, Activity and Health."""

from datetime import datetime

from selenium.webdriver.common.keys import Keys

MAXIMUM_DELAY_MILLISECONDS = 200

# Records when the page shows a commit that it did not show before.
OBSERVE = """
    window.arrived = null;
    const list = document.querySelector('.stream');
    new MutationObserver((records) => {
        const item = records.flatMap((record) => [...record.addedNodes])[0];
        window.arrived ??= { at: Date.now(), time: item.querySelector('time').title };
    }).observe(list, { childList: true });
"""


def shown_commit(page):
    return page.text(".facts-row dd")


def scene_slider(page):
    """the slider moves to earlier commits, by arrow keys as well, and the address follows"""
    page.visit("garage", "#/time?collection=owners")
    newest = shown_commit(page)
    page.run("document.querySelector('.slider').focus()")
    page.keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    page.wait(lambda: shown_commit(page) != newest, "an earlier commit")
    assert "/time/" in page.driver.current_url, page.driver.current_url
    page.click("button[title='Newest commit']")
    page.wait(lambda: int(shown_commit(page).replace(",", "")) >= int(newest.replace(",", "")), "the newest")


def scene_earlier_state(page):
    """a collection is shown as it was after the chosen commit"""
    page.visit("garage", "#/time?collection=owners")
    newest = page.find(".vbody", "City").text
    page.run("document.querySelector('.slider').focus()")
    page.keys(*[Keys.ARROW_LEFT] * 12)
    page.wait(lambda: "City" in page.text(".vbody") and page.text(".vbody") != newest, "an earlier city")


def scene_earlier_statement(page):
    """a statement is run on the chosen commit"""
    page.visit("garage", "#/time?collection=owners")
    page.type(".page-time form input[type=text]", "SELECT COUNT(*) AS count FROM owners" + Keys.ENTER)
    page.find("pre.statement", "AS OF COMMIT")
    page.find(".vrow", "3")


def scene_commit_changes(page):
    """the changes of a commit show the fields before and after"""
    page.visit("garage", "#/collections/owners/\"ann\"")
    page.click(".choices button", "History")
    page.click(".history a", "commit")
    page.click(".changes summary", "owners / ann")
    page.find(".difference .after", "City")
    assert page.text(".difference .before") != page.text(".difference .after")


def scene_strip(page):
    """a click on the strip of the log chooses a commit"""
    page.visit("garage", "#/time?collection=owners")
    newest = shown_commit(page)
    page.wait(lambda: page.all(".strip rect"), "the strip")
    page.run("""const strip = document.querySelector('.strip'), box = strip.getBoundingClientRect();
        strip.dispatchEvent(new MouseEvent('click', { clientX: box.left + box.width / 3, bubbles: true }))""")
    page.wait(lambda: shown_commit(page) != newest, "an earlier commit")


def scene_change_within_200_ms(page):
    """a commit of another process is shown within 200 ms"""
    page.visit("garage", "#/activity")
    page.find(".connection.live")
    page.run(OBSERVE)
    page.world.commit(2)
    arrived = page.wait(lambda: page.run("return window.arrived"), "the commit")
    committed = datetime.fromisoformat(arrived["time"].replace("Z", "+00:00")).timestamp() * 1000
    delay = arrived["at"] - committed
    assert delay < MAXIMUM_DELAY_MILLISECONDS, f"the commit was shown after {delay:.0f} ms"


# Hides the page or shows it again, as another tab would, and keeps its streams of commits.
COVER = """
    window.streams ??= [];
    window.Original ??= window.EventSource;
    window.EventSource = class extends window.Original {
        constructor(url) { super(url); window.streams.push(this); }
    };
    const isHidden = arguments[0];
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => isHidden });
    document.dispatchEvent(new Event('visibilitychange'));
"""


def scene_unreadable_commit(page):
    """a commit that cannot be read is reported once, and the page asks for no further ones"""
    page.visit("damaged", "#/activity")
    page.find(".connection.live")
    page.world.change_damaged("Vienna")
    page.find(".stream > li")
    page.run(COVER, True)
    page.world.change_damaged("Lisbon")
    about = "return fetch('/about').then((answer) => answer.json()).then(({ commit }) => commit)"
    page.wait(lambda: page.run(about) == 3, "the commit in the inspector")
    page.world.damage("Lisbon", "Dublin")
    page.run(COVER, False)
    note = page.find(".toasts [role=alert]", ".log")
    page.find(".connection.failed", "commits ended")
    assert page.run("return streams.map((stream) => stream.readyState)") == [2]
    page.run(COVER, True)
    page.run(COVER, False)
    page.find(".connection.failed")
    assert page.run("return streams.length") == 1
    assert len(page.all(".toasts [role=alert]")) == 1
    page.click(".tab", "Health")
    page.find("h1", "Health")
    assert note.is_displayed()
    page.click(".toasts button", "Close")
    page.gone(".toasts [role=alert]")


def scene_pause(page):
    """a paused stream keeps the commits that arrive meanwhile"""
    page.visit("garage", "#/activity")
    page.find(".connection.live")
    page.click(".stream-part button", "Pause")
    before = len(page.all(".stream > li"))
    page.world.commit(3)
    page.find(".stream-part button", "Continue (")
    assert len(page.all(".stream > li")) == before
    page.click(".stream-part button", "Continue")
    page.wait(lambda: len(page.all(".stream > li")) > before, "the kept commit")


def scene_observers(page):
    """observers, running statements and the progress of peers are listed"""
    page.visit("mesh", "#/activity")
    for title in ["Observers", "Subscriptions", "Running statements", "Replication", "Refused writes"]:
        part = page.find("section.card", title)
        page.wait(lambda: "Loading" not in part.text, f"the rows of {title}")
    page.gone(".error")


def scene_health(page):
    """sizes and counters are sampled and drawn while the page is open"""
    page.visit("garage", "#/health")
    page.find(".tile", "statements")
    page.find(".heading", "3 samples")
    assert len(page.all(".tile .spark")) > 3
    assert len(page.all(".health-charts .lines polyline")) >= 2
    page.gone(".error")
