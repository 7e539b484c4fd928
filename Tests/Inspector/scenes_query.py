"""Scenes of the page Query."""

from selenium.webdriver.common.keys import Keys

GROUPS = "SELECT color, COUNT(*) AS count FROM cars GROUP BY color"


def scene_completion(page):
    """a statement is completed from the list, and run by Ctrl+Enter"""
    page.visit("garage", "#/query")
    page.type("textarea", "SELECT * FROM own")
    page.find(".words li", "owners")
    while page.text(".words [aria-selected=true]") != "owners":
        page.keys(Keys.ARROW_DOWN)
    page.keys(Keys.ENTER)
    assert page.run("return document.querySelector('textarea').value") == "SELECT * FROM owners"
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.find(".vrow", "Ann")
    page.find(".facts", "3 rows")


def scene_edit(page):
    """a statement is edited and run again, by the keyboard alone"""
    page.visit("garage", "#/collections")
    page.run("document.querySelector('#tab-collections').focus()")
    page.keys(Keys.ARROW_DOWN)
    page.wait(lambda: page.focused("e.tagName") == "TEXTAREA", "the focus in the editor")
    page.keys("SELECT * FROM owners WHERE _id = 'bob'")
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.find(".vrow", "Bob")
    page.keys(Keys.BACKSPACE * 4, "cem'")
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.find(".vrow", "Cem")
    page.find(".facts", "1 row")
    while page.focused("e.className") != "vtable":
        page.keys(Keys.TAB)
    page.keys(Keys.ENTER)
    page.find(".row-detail", '"name": "Cem"')


def scene_read_only(page):
    """a statement that writes is refused, with the option that permits it"""
    page.failing_requests_allowed = True
    page.visit("garage", "#/query")
    page.statement("DELETE FROM owners")
    page.find(".error", "--write")


def scene_completion_escape(page):
    """Escape closes the list of words, and leaves the statement as it was"""
    page.visit("garage", "#/query")
    page.type("textarea", "SELECT * FROM own")
    page.find(".words li", "owners")
    page.keys(Keys.ESCAPE)
    page.gone(".words")
    assert page.run("return document.querySelector('textarea').value") == "SELECT * FROM own"


def scene_json(page):
    """integers beyond 2^53 keep their digits, and floats stay floats"""
    page.visit("garage", "#/query")
    page.statement("SELECT * FROM notes WHERE _id = 1")
    page.click(".choices button", "JSON")
    text = page.text(".json-rows")
    assert "9223372036854775807" in text and "2.0" in text, text


def scene_chart(page):
    """groups are drawn as bars with their labels"""
    page.visit("garage", "#/query")
    page.statement(GROUPS)
    page.find(".vrow", "blue")
    page.click(".choices button", "Chart")
    page.wait(lambda: len(page.all(".bars rect")) >= 5, "five bars")
    page.find(".bars dt", "green")


def scene_line(page):
    """the values of commits are drawn as a line over time"""
    page.visit("garage", "#/query")
    page.statement("SELECT time, bytes FROM system:log")
    page.find(".vrow")
    page.click(".choices button", "Chart")
    page.wait(lambda: page.all(".lines polyline"), "a line")


def scene_plan(page):
    """the profile of a statement shows operators with rows and shares of the time"""
    page.visit("garage", "#/query")
    page.type("textarea", GROUPS)
    page.click("button", "Profile")
    page.find(".operator", "group")
    page.find(".operator", "%")
    page.find(".operator.slowest")


def scene_error(page):
    """an error is shown beneath its part of the statement, which one click selects"""
    page.failing_requests_allowed = True
    page.visit("garage", "#/query")
    page.statement("SELEC * FROM cars")
    page.find(".caret mark", "SELEC")
    page.click("button", "Go to the error")
    selected = "const e = document.activeElement; return e.value.slice(e.selectionStart, e.selectionEnd)"
    assert page.run(selected) == "SELEC"


def scene_history(page):
    """statements remain in the history after a reload"""
    page.visit("garage", "#/query")
    page.statement("SELECT * FROM owners")
    page.find(".facts", "3 rows")
    page.visit("garage", "#/query")
    page.click("summary", "History")
    page.click(".statements a", "SELECT * FROM owners")
    page.find(".facts", "3 rows")
