"""Scenes of the page Collections."""

from selenium.webdriver.common.keys import Keys

TABLE = ".vtable"


def row(page, text):
    return page.find(".vrow", text)


def scene_list(page):
    """the list shows each collection with its documents, size, fields and indexes"""
    page.visit("garage", "#/collections")
    cells = page.find("tbody tr", "cars").text
    assert "1,000,000" in cells and "MiB" in cells, cells


def scene_million(page):
    """a document among a million rows is reached by scrolling, and few rows are in the document"""
    page.visit("garage", "#/collections/cars")
    row(page, "car-0000000")
    page.run("const t = document.querySelector('.vtable'); t.scrollTop = t.scrollHeight * 0.7")
    page.wait(lambda: "car-07" in page.text(".vbody") or "car-06" in page.text(".vbody"), "rows of the middle")
    assert len(page.all(".vrow")) < 80, len(page.all(".vrow"))
    page.run("const t = document.querySelector('.vtable'); t.scrollTop = t.scrollHeight")
    row(page, "car-0999999")
    assert "of 1,000,000" in page.text(".vnote")


def scene_end_key(page):
    """the key End goes to the last row, and Enter opens its document"""
    page.visit("garage", "#/collections/cars")
    row(page, "car-0000000")
    page.run("document.querySelector('.vtable').focus()")
    page.keys(Keys.END)
    row(page, "car-0999999")
    page.keys(Keys.ENTER)
    page.find(".panel h2", "car-0999999")


def scene_find_id(page):
    """a document among a million is found by its id"""
    page.visit("garage", "#/collections/cars")
    page.type("form.find input", "car-0765432" + Keys.ENTER)
    page.find(".tree", "car-0765432")
    page.find(".tree", "Van")


def scene_find_condition(page):
    """a condition shows the matching documents and their number"""
    page.visit("garage", "#/collections/cars")
    page.type("form.filter input", "_id = 'car-0000123'" + Keys.ENTER)
    page.find(".heading", "1 matching document")
    row(page, "car-0000123")


def scene_wrong_condition(page):
    """an invalid condition shows the message and its position"""
    page.failing_requests_allowed = True
    page.visit("garage", "#/collections/cars")
    page.type("form.filter input", "color ~ 3" + Keys.ENTER)
    page.find(".error .caret", "^")


def scene_fields(page):
    """the fields of a collection have types and frequencies, and its indexes are listed"""
    page.visit("garage", "#/collections/cars")
    page.click("summary", "Fields and indexes")
    assert "string" in page.find(".fields tr", "color").text
    page.find(".fields", "by_color")


def scene_tree(page):
    """arrow keys open, close and move within the tree of a document"""
    page.visit("garage", '#/collections/cars/"car-0000009"')
    page.find(".tree", "engine")
    page.run("document.querySelector('.tree [role=treeitem]').focus()")
    page.keys(Keys.END)
    while page.focused("e.querySelector('.name').textContent") != "engine":
        page.keys(Keys.ARROW_UP)
    page.keys(Keys.ARROW_LEFT)
    assert page.focused("e.getAttribute('aria-expanded')") == "false"
    page.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert page.focused("e.querySelector('.name').textContent") in ("power", "fuel")


def scene_blame(page):
    """each changed field of a document shows the commit that changed it"""
    page.visit("garage", '#/collections/owners/"ann"')
    city = page.find(".tree li", "city")
    blame = page.wait(lambda: city.find_elements("css selector", "a.blame"), "the commit of the field")
    assert "/time/" in blame[0].get_attribute("href")
    page.click(".choices button", "History")
    page.find(".history li", "city")


def scene_live_document(page):
    """an open document follows the commits of other processes"""
    page.visit("garage", '#/collections/cars/"car-0000003"')
    page.find(".tree", "color")
    page.find(".connection.live")
    before = page.text(".tree")
    page.world.commit(1)
    page.wait(lambda: page.text(".tree") != before, "the new color")


def scene_escape(page):
    """Escape closes a document, and then returns to the tabs"""
    page.visit("garage", '#/collections/owners/"ann"')
    page.click(".tree .node", "city")
    page.keys(Keys.ESCAPE)
    page.gone(".panel")
    page.keys(Keys.ESCAPE)
    assert page.focused("e.id") == "tab-collections"
