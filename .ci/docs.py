#!/usr/bin/env python3
"""The part of `.ci/docs` that reads symbol graphs and the pages of docc.

    docs.py add GRAPH FOLDER      adds the symbols of the graphs in FOLDER to the file GRAPH
    docs.py comments GRAPH        fails if a public symbol has no comment
    docs.py topics PAGES          fails if a landing page has symbols without a group of its own
"""

import json
import pathlib
import sys


def graphs(folder):
    return [json.loads(path.read_text())
            for path in sorted(pathlib.Path(folder).glob("*.symbols.json"))]


def add(file, others):
    path = pathlib.Path(file)
    graph = json.loads(path.read_text())
    known = {symbol["identifier"]["precise"] for symbol in graph["symbols"]}
    relations = {json.dumps(relation, sort_keys=True) for relation in graph["relationships"]}
    for other in graphs(others):
        graph["symbols"] += [
            symbol for symbol in other["symbols"]
            if symbol["identifier"]["precise"] not in known]
        graph["relationships"] += [
            relation for relation in other["relationships"]
            if json.dumps(relation, sort_keys=True) not in relations]
    path.write_text(json.dumps(graph))
    return []


def comments(folder):
    for graph in graphs(folder):
        for symbol in graph["symbols"]:
            # The compiler synthesizes members such as `init(rawValue:)`, which have no location.
            location = symbol.get("location")
            if symbol.get("docComment") or location is None:
                continue
            file = location["uri"].rsplit("/Sources/")[-1]
            line = location["position"]["line"] + 1
            name = ".".join(symbol["pathComponents"])
            yield f"Sources/{file}:{line}: {name} has no comment"


def topics(folder):
    pages = sorted(pathlib.Path(folder).glob("*.json"))
    if not pages:
        yield f"{folder} has no landing page"
    for path in pages:
        page = json.loads(path.read_text())
        for section in page.get("topicSections", []):
            if section.get("generated"):
                for identifier in section["identifiers"]:
                    name = identifier.rsplit("/")[-1]
                    yield f"{path.stem}: {name} is in no group of the landing page"


command = {"add": add, "comments": comments, "topics": topics}[sys.argv[1]]
findings = list(command(*sys.argv[2:]))
for finding in findings:
    print(f"docs: {finding}")
sys.exit(1 if findings else 0)
