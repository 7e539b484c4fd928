/// A row of the published results: one case, and the systems that it is compared with.
package struct PublishedRow: Sendable {
    /// A system of a case, and its name in the table and chart.
    package struct Rival: Sendable {
        package let system: String
        package let name: String

        /// Creates a rival from the system in the results and its published name.
        package init(system: String, name: String) {
            self.system = system
            self.name = name
        }
    }

    package let label: String
    package let workload: String
    package let name: String
    /// Without rivals, the value itself is published.
    package let rivals: [Rival]

    /// The name of the case on a command line.
    package var path: String { "\(workload)/\(name)" }

    /// Creates the row of a case, which `path` names as WORKLOAD/CASE.
    package init(_ label: String, _ path: String, _ rivals: [Rival] = []) {
        let parts = path.split(separator: "/").map(String.init)
        precondition(parts.count == 2, "A row names a case as WORKLOAD/CASE.")
        self.label = label
        (workload, name) = (parts[0], parts[1])
        self.rivals = rivals
    }
}

/// Rows under one heading.
package struct PublishedGroup: Sendable {
    package let title: String
    package let rows: [PublishedRow]

    /// Creates a group of rows.
    package init(title: String, rows: [PublishedRow]) {
        self.title = title
        self.rows = rows
    }
}

// MARK: The published cases

extension PublishedGroup {
    /// The cases of the README, whether Sheaf wins or loses them.
    package static let all = [
        PublishedGroup(
            title: "Durable commits",
            rows: [
                PublishedRow("one writer", "storage/durable-1", .stores),
                PublishedRow("64 writers", "storage/durable-64", .stores),
                PublishedRow("64 tasks, one INSERT each", "transactions/api-durable-64", .sqlite),
                PublishedRow("1,000 INSERTs each", "transactions/api-load-1000", .sqlite),
                PublishedRow("1,000 entries each", "storage/load-1000", .stores + .leveldb),
            ]),
        PublishedGroup(
            title: "Reads",
            rows: [
                PublishedRow("payload of a random key", "storage/get-random", .stores),
                PublishedRow(
                    "typed get, one field decoded", "transactions/api-get-field",
                    .sqlite + .lmdb),
                PublishedRow(
                    "SELECT by _id", "transactions/api-get", .sqlite + .lmdb),
                PublishedRow("scan with a filter", "query/scan-filter", .tables),
                PublishedRow("1,000 rows of an index", "query/index-scan-1000", .tables),
                PublishedRow("GROUP BY with a SUM", "query/group-sum", .tables),
                PublishedRow("join of 10,000 rows", "query/join", .tables),
            ]),
        PublishedGroup(
            title: "Opening a store",
            rows: [
                PublishedRow("after a clean close", "open/open-checkpoint", .stores),
                PublishedRow("after a crash, from the log", "open/open-replay", .sqlite + .rocksdb),
            ]),
        PublishedGroup(
            title: "Diffing two lists",
            rows: [
                PublishedRow("100,000 items, 1 % changed", "diffing/diff-100k-1pct", .stdlib),
                PublishedRow("10,000 items, half changed", "diffing/diff-10k-50pct", .stdlib),
            ]),
        PublishedGroup(
            title: "Sync, over TLS",
            rows: [
                PublishedRow(
                    "first sync of a new peer", "shipping/first-sync",
                    [.init(system: "sqlite-session", name: "SQLite session, local")]),
                PublishedRow("write to remote observer", "shipping/live-latency"),
            ]),
        PublishedGroup(
            title: "Fan-out: from a write to the one observer of that document",
            rows: [
                PublishedRow("among 1 observer", "fanout/fanout-1"),
                PublishedRow("among 100,000 observers", "fanout/fanout-100000"),
            ]),
    ]
}

extension [PublishedRow.Rival] {
    fileprivate static let sqlite = [Element(system: "sqlite", name: "SQLite")]
    fileprivate static let lmdb = [Element(system: "lmdb", name: "LMDB")]
    fileprivate static let rocksdb = [Element(system: "rocksdb", name: "RocksDB")]
    fileprivate static let leveldb = [Element(system: "leveldb", name: "LevelDB")]
    fileprivate static let stdlib = [Element(system: "stdlib", name: "Swift's difference(from:)")]
    fileprivate static let stores = sqlite + lmdb + rocksdb
    fileprivate static let tables = [
        Element(system: "sqlite-json", name: "SQLite"),
        Element(system: "sqlite-columns", name: "SQLite with columns"),
    ]
}
