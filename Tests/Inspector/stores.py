"""The stores of the scenes, and an inspector for each of them.

`garage` has a million documents; `conflicts` has fields that two sites wrote concurrently, and its
inspector may write; `mesh` and `counter` are two of three peers; `damaged` is the store of which
a scene damages the newest commit.
"""

import json
import shutil
import subprocess
from urllib.parse import urlsplit

CARS = 1_000_000
COLORS = ["blue", "red", "green", "white", "black"]
MODELS = ["Kombi", "Roadster", "Van", "Estate", "Coupé"]
HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
SECONDS = 60
DATABASE = "6a1f0c52-3a7e-4f0e-9d6b-8f1f4a0c2b11"


def car(number):
    fields = {
        "_id": f"car-{number:07d}", "color": COLORS[number * 7 % 5],
        "mileage": number * 7919 % 250000, "model": MODELS[number % 5],
        "owner": ["ann", "bob", None][number % 3],
    }
    if number % 9 == 0:
        fields["engine"] = {"power": 60 + number % 200, "fuel": "diesel"}
    return fields


def notes():
    """Documents with texts that a careless page would run as scripts, or show wrongly."""
    deep = {"leaf": 1}
    for level in range(40):
        deep = {"level": deep, "n": level}
    return [
        {"_id": 1, "big": 9223372036854775807, "float": 2.0, "none": None, "text": HOSTILE},
        {"_id": "<script>window.hacked=1</script>", HOSTILE: "a name", "text": "a" * 20000},
        {"_id": ["a", 1], "deep": deep, "__proto__": {"polluted": True}, "constructor": "x",
         "list": list(range(1000))},
        {"_id": True, "text": "javascript:window.hacked=1"},
    ]


OWNERS = [
    {"_id": "ann", "name": "Ann", "city": "Berlin"},
    {"_id": "bob", "name": "Bob", "city": "Rome"},
    {"_id": "cem", "name": "Cem"},
]


class Stores:
    """Stores that the tool creates, with an inspector for each of them."""

    def __init__(self, sheaf, work):
        self.sheaf = sheaf
        self.directory = work / "stores"
        self.processes = []
        self.inspectors = {}
        self.peers = {}
        self.urls = {}

    def __enter__(self):
        try:
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory.mkdir(parents=True)
            self.make_garage()
            self.make_peers()
            self.inspect("garage")
            self.inspect("conflicts", "--write")
            self.inspect("mesh")
            self.inspect("counter")
            self.insert("damaged", "owners", OWNERS)
            self.inspect("damaged")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(timeout=SECONDS)

    def url(self, store):
        return self.urls[store]

    def is_own(self, url):
        own = {urlsplit(own).netloc for own in self.urls.values()}
        return urlsplit(url).netloc in own | {""}

    def commit(self, number):
        """Commits a change from another process, while the inspector of the store is open."""
        self.query("garage", f"UPDATE cars SET color = 'color {number}' WHERE _id = 'car-0000003'")

    def change_damaged(self, city):
        """Commits a change of the store `damaged` from another process."""
        self.query("damaged", f"UPDATE owners SET city = '{city}' WHERE _id = 'ann'")

    def damage(self, city, other):
        """Overwrites a text in the log of the store `damaged`, so that its commit has a wrong checksum."""
        for path in sorted((self.directory / "damaged").glob("*.log")):
            with path.open("r+b") as file:
                offset = file.read().find(city.encode())
                if offset >= 0:
                    file.seek(offset)
                    file.write(other.encode())
                    return
        raise AssertionError(f"no log has the text {city}")

    def end_inspector(self, store):
        """Ends the inspector of a store, as a crash of its process would."""
        process = self.inspectors[store]
        process.kill()
        process.wait(timeout=SECONDS)

    def restart_inspector(self, store):
        """Starts an inspector on the port of the one that has ended; it has a new token."""
        self.inspect(store, "--listen", urlsplit(self.urls[store]).netloc)

    def end_peer(self, store):
        """Ends the process of a peer."""
        process, _ = self.peers[store]
        process.terminate()
        process.wait(timeout=SECONDS)

    def restart_peer(self, store):
        """Starts a peer that has ended again."""
        _, options = self.peers[store]
        self.serve(store, *options)

    # Parts

    def tool(self, *arguments):
        done = subprocess.run([self.sheaf, *arguments], capture_output=True, text=True)
        assert done.returncode == 0, f"sheaf {' '.join(map(str, arguments))}: {done.stderr}"
        return done.stdout

    def query(self, store, statement):
        return self.tool("query", self.directory / store, statement)

    def insert(self, store, collection, documents):
        path = self.directory / f"{collection}.jsonl"
        with path.open("w") as file:
            for document in documents:
                file.write(json.dumps(document) + "\n")
        self.tool("import", self.directory / store, collection, path)
        path.unlink()

    def make_garage(self):
        self.insert("garage", "cars", map(car, range(CARS)))
        self.insert("garage", "owners", OWNERS)
        self.insert("garage", "notes", notes())
        self.query("garage", "CREATE INDEX by_color ON cars (color)")
        for number in range(20):
            self.query("garage", f"UPDATE owners SET city = 'City {number}' WHERE _id = 'ann'")

    def make_peers(self):
        """Creates a conflict between two sites, and then starts three peers."""
        self.insert("origin", "cars", map(car, range(100)))
        self.insert("origin", "owners", OWNERS)
        for store in ["conflicts", "mesh"]:
            self.tool("backup", self.directory / "origin", self.directory / f"{store}.backup")
            self.tool("restore", self.directory / f"{store}.backup", self.directory / store)
        for owner in ["ann", "bob"]:
            self.query("conflicts", f"UPDATE owners SET city = 'Paris' WHERE _id = '{owner}'")
            self.query("mesh", f"UPDATE owners SET city = 'Oslo' WHERE _id = '{owner}'")
        address = self.serve("mesh", "hub", "--subscribe", "SELECT * FROM owners")
        self.tool(
            "peer", "connect", self.directory / "conflicts", "--name", "laptop", "--connect", address, *self.identity("conflicts"),
            "--subscribe", "SELECT * FROM owners", "--until-synced", "--timeout", "30")
        self.serve("tablet", "tablet", "--connect", address, "--subscribe", "SELECT * FROM cars")
        self.serve("counter", "counter", "--connect", address, "--subscribe", "SELECT * FROM owners")

    def identity(self, store):
        """Returns the options of a peer with a new key."""
        key = self.directory / f"{store}.key"
        if not key.exists():
            self.tool("keygen", key)
        return ["--database", DATABASE, "--key", key]

    def serve(self, store, name, *options):
        """Starts a peer, and returns the address of its first event."""
        process, line = self.start(
            "peer", "serve", self.directory / store, "--name", name, "--listen", "127.0.0.1:0",
            *self.identity(store), "--json", *options)
        self.peers[store] = process, (name, *options)
        return json.loads(line).get("address")

    def inspect(self, store, *options):
        process, line = self.start("inspect", self.directory / store, "--no-open", *options)
        assert line.startswith("http://"), f"sheaf inspect printed {line!r}"
        self.inspectors[store] = process
        self.urls[store] = line

    def start(self, *arguments):
        """Starts a process that runs until the end, and returns it with its first line."""
        process = subprocess.Popen(
            [self.sheaf, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.processes.append(process)
        line = process.stdout.readline().strip()
        assert line, f"sheaf {arguments[0]} ended: {process.stderr.read()}"
        return process, line
