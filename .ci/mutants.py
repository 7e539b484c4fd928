#!/usr/bin/env python3
"""Prints entries of Tests/Mutation/equivalent.json that lack a line of the sources or a reason."""

import json
import os

with open("Tests/Mutation/equivalent.json") as file:
    entries = json.load(file)
for entry in entries:
    lines = []
    if os.path.exists(entry["path"]):
        with open(entry["path"]) as source:
            lines = [line.strip() for line in source]
    if entry["line"] not in lines:
        print(f"{entry['path']} has no line: {entry['line']}")
    if len(entry["reason"].split()) < 3:
        print(f"{entry['path']} has no reason for: {entry['change']}")
