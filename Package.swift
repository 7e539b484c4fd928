// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

extension Target {
    /// Creates the target of an installed library, found by `pkg-config`.
    fileprivate static func system(
        _ name: String, _ pkgConfig: String, apt: String, brew: String, path: String? = nil
    ) -> Target {
        systemLibrary(
            name: name, path: path, pkgConfig: pkgConfig,
            providers: [.apt([apt]), .brew([brew])])
    }

    /// Creates a target of `Sources`.
    fileprivate static func module(_ name: String, on dependencies: Dependency...) -> Target {
        target(name: name, dependencies: dependencies)
    }

    /// Creates a library of tests and of their programs.
    fileprivate static func forTests(_ name: String, on dependencies: Dependency...) -> Target {
        target(name: name, dependencies: dependencies, path: "Tests/\(name)")
    }

    /// Creates a library of benchmarks.
    fileprivate static func forBenchmarks(
        _ name: String, on dependencies: Dependency..., resources: [Resource] = []
    ) -> Target {
        target(
            name: name, dependencies: dependencies, path: "Benchmarks/Sources/\(name)",
            resources: resources)
    }

    /// Creates a program of tests.
    fileprivate static func program(_ name: String, on dependencies: Dependency...) -> Target {
        executableTarget(name: name, dependencies: dependencies, path: "Tests/\(name)")
    }

    /// Creates a target of tests.
    fileprivate static func tests(
        _ name: String, on dependencies: Dependency..., exclude: [String] = []
    ) -> Target {
        testTarget(name: name, dependencies: dependencies, exclude: exclude)
    }
}

let package = Package(
    name: "sheaf",
    // The first versions with `Mutex` and `Atomic`.
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .executable(name: "sheaf", targets: ["SheafTool"]),
        .library(name: "Sheaf", targets: ["Sheaf"]),
        .library(name: "SheafNetwork", targets: ["SheafNetwork"]),
        .library(name: "SheafInspector", targets: ["SheafInspector"]),
        .library(name: "SheafHub", targets: ["SheafHub"]),
        .library(name: "SheafHubNATS", targets: ["SheafHubNATS"]),
        .library(name: "SheafHubPostgreSQL", targets: ["SheafHubPostgreSQL"]),
        .library(name: "DittoNames", targets: ["DittoNames"]),
    ],
    traits: [
        .trait(
            name: "LineEditing",
            description: "Edits the lines of the shell with libedit; without it, they are plain."),
        .trait(
            name: "Inspector",
            description: "Serves the inspector with libmicrohttpd; without it, it does not start."),
        .trait(name: "NATS", description: "Keeps the log of hubs in NATS JetStream with libnats."),
        .trait(name: "PostgreSQL", description: "Keeps the log of hubs in PostgreSQL with libpq."),
        .default(enabledTraits: ["Inspector", "LineEditing"]),
    ],
    targets: [
        // Floor 0: system libraries.
        .system("CLZ4", "liblz4", apt: "liblz4-dev", brew: "lz4"),
        .system("CXXHash", "libxxhash", apt: "libxxhash-dev", brew: "xxhash"),
        .system("CCrypto", "libcrypto", apt: "libssl-dev", brew: "openssl@3"),
        .system("COpenSSL", "openssl", apt: "libssl-dev", brew: "openssl@3"),
        .system("CEdit", "libedit", apt: "libedit-dev", brew: "libedit"),
        .system("CMicroHTTPD", "libmicrohttpd", apt: "libmicrohttpd-dev", brew: "libmicrohttpd"),
        .systemLibrary(name: "CEpoll"),
        .system("CNATS", "libnats", apt: "libnats-dev", brew: "cnats"),
        .system("CPQ", "libpq", apt: "libpq-dev", brew: "libpq"),

        // Floor 1: bytes; threads, conditions and clocks of the operating system.
        .module("SheafBytes", on: "CCrypto", "CLZ4", "CXXHash"),
        .target(name: "SheafSystem"),

        // Floor 1: lines that a user types at a terminal, with a history; used by the tool alone.
        .target(
            name: "SheafLineEditor",
            dependencies: [.target(name: "CEdit", condition: .when(traits: ["LineEditing"]))]),

        // Floor 1: dates, time zones, LIKE patterns and regular expressions.
        .target(name: "SheafText"),

        // Floor 1: the reference of the query language, for pages and help.
        .target(name: "SheafReference"),

        // Floor 2: the log, the tree, and the store of opaque bytes over both.
        .module("SheafStorage", on: "SheafBytes", "SheafSystem"),

        // Floor 2: values, documents that merge, and commits.
        .module("SheafDocument", on: "SheafBytes", "SheafText"),

        // Floor 3: the query language.
        .module("SheafQuery", on: "SheafBytes", "SheafDocument", "SheafSystem", "SheafText"),

        // Floor 3: what peers say to each other.
        .module("SheafSync", on: "SheafBytes", "SheafDocument"),

        // Floor 3: what peers use to reach each other: the protocol of transports, and one in memory.
        .module("SheafTransport", on: "SheafBytes", "SheafDocument", "SheafSystem"),

        // Floor 3: documents over one log: transactions, the catalog, indexes, clocks and sites.
        .module("SheafEngine", on: "SheafBytes", "SheafDocument", "SheafStorage", "SheafSystem"),

        // Floor 3: the files that documents reference.
        .module(
            "SheafAttachments", on: "SheafBytes", "SheafDocument", "SheafStorage", "SheafSystem"),

        // Floor 4: statements against the documents of a store.
        .module(
            "SheafStatements", on: "SheafBytes", "SheafDocument", "SheafEngine", "SheafQuery",
            "SheafStorage", "SheafSystem"),

        // Floor 4: the log that hubs share, without I/O.
        .module("SheafHubLog", on: "SheafBytes", "SheafDocument", "SheafSync"),

        // Floor 5: what the engines of that log share, and one in memory.
        .module("SheafHubEngine", on: "SheafHubLog", "SheafSystem"),

        // Floor 6: that log over NATS JetStream.
        .target(
            name: "SheafHubNATS",
            dependencies: [
                .target(name: "CNATS", condition: .when(traits: ["NATS"])), "SheafBytes",
                "SheafHubEngine", "SheafHubLog", "SheafSync", "SheafSystem",
            ]),

        // Floor 5: that log in PostgreSQL.
        .target(
            name: "SheafHubPostgreSQL",
            dependencies: [
                .target(name: "CPQ", condition: .when(traits: ["PostgreSQL"])), "SheafBytes",
                "SheafDocument", "SheafHubLog", "SheafSync", "SheafSystem",
            ]),

        // Floor 5: the replicator over the sessions of SheafSync.
        .module(
            "SheafReplication", on: "SheafAttachments", "SheafBytes", "SheafDocument",
            "SheafEngine", "SheafHubLog", "SheafQuery", "SheafStatements", "SheafStorage",
            "SheafSync", "SheafSystem", "SheafTransport"),

        // Floor 5: the public face of a store: transactions, results, observers, differences.
        .module(
            "SheafStore", on: "SheafAttachments", "SheafBytes", "SheafDocument", "SheafEngine",
            "SheafQuery", "SheafStatements", "SheafStorage", "SheafSystem"),

        // Floor 6: the public face of a peer, and all that users of Sheaf import.
        .module(
            "Sheaf", on: "SheafAttachments", "SheafBytes", "SheafDocument", "SheafEngine",
            "SheafHubLog", "SheafQuery", "SheafReplication", "SheafStatements", "SheafStorage",
            "SheafStore", "SheafSync", "SheafSystem", "SheafTransport"),

        // Floor 5: peers over TCP.
        .module(
            "SheafNetwork", on: "CEpoll", "COpenSSL", "SheafBytes", "SheafDocument",
            "SheafStorage", "SheafSystem", "SheafTransport"),

        // Floor 6: the names of the reference system.
        .module("DittoNames", on: "Sheaf", "SheafBytes", "SheafNetwork"),

        // Floor 6: documents from and to files of other formats.
        .module(
            "SheafTransfer", on: "Sheaf", "SheafAttachments", "SheafBytes", "SheafDocument",
            "SheafEngine", "SheafQuery", "SheafReplication", "SheafStatements", "SheafStorage",
            "SheafStore", "SheafSystem"),

        // Floor 6: the words that complete a statement, for the shell and the inspector.
        .module(
            "SheafCompletion", on: "SheafDocument", "SheafEngine", "SheafQuery", "SheafReference",
            "SheafStatements", "SheafStorage", "SheafStore"),

        // Floor 7: a web server for stores and peers, and its page.
        .target(
            name: "SheafInspector",
            dependencies: [
                .target(name: "CMicroHTTPD", condition: .when(traits: ["Inspector"])),
                "Sheaf", "SheafBytes", "SheafCompletion", "SheafDocument", "SheafEngine",
                "SheafQuery", "SheafReplication", "SheafStatements", "SheafStorage", "SheafStore",
                "SheafSystem",
            ],
            resources: [.embedInCode("Page")]),

        // Floor 8: hubs, which serve a database together.
        .module(
            "SheafHub", on: "Sheaf", "SheafAttachments", "SheafBytes", "SheafDocument",
            "SheafEngine", "SheafHubLog", "SheafInspector", "SheafReplication", "SheafStatements",
            "SheafStorage", "SheafStore", "SheafSync", "SheafSystem", "SheafTransport"),

        // Floor 9: the tool.
        .executableTarget(
            name: "SheafTool",
            dependencies: [
                "Sheaf", "SheafAttachments", "SheafBytes", "SheafCompletion", "SheafDocument",
                "SheafEngine", "SheafHub", "SheafHubLog", "SheafHubNATS", "SheafHubPostgreSQL",
                "SheafInspector", "SheafLineEditor", "SheafNetwork", "SheafQuery",
                "SheafReference", "SheafReplication", "SheafStatements", "SheafStorage",
                "SheafStore", "SheafSystem", "SheafTransfer",
            ]),

        // Tests.
        .forTests("SheafTestSupport", on: "SheafBytes", "SheafStorage", "SheafSystem"),
        .forTests(
            "SheafSimulator", on: "SheafBytes", "SheafStorage", "SheafSystem", "SheafTestSupport"),
        .program(
            "sheaf-crash", on: "DittoNames", "Sheaf", "SheafAttachments", "SheafBytes",
            "SheafDocument", "SheafEngine", "SheafNetwork", "SheafStatements", "SheafStorage",
            "SheafStore", "SheafSystem", "SheafTestSupport"),
        .tests("SheafBytesTests", on: "SheafBytes", "SheafTestSupport"),
        .forTests("SheafDocumentModel", on: "SheafBytes", "SheafDocument", "SheafTestSupport"),
        .forTests(
            "SheafDocumentSimulations", on: "SheafBytes", "SheafDocument", "SheafDocumentModel",
            "SheafEngine", "SheafStorage", "SheafTestSupport"),
        .forTests(
            "SheafConformance", on: "SheafDocument", "SheafEngine", "SheafQuery", "SheafStatements",
            "SheafStorage", "SheafTestSupport"),
        .forTests(
            "SheafQueryModel", on: "SheafDocument", "SheafDocumentModel", "SheafEngine",
            "SheafQuery", "SheafReference", "SheafStatements", "SheafStorage", "SheafStore",
            "SheafSystem", "SheafTestSupport", "SheafText"),
        .forTests(
            "SheafIsolation", on: "SheafDocument", "SheafStatements", "SheafStore",
            "SheafTestSupport"),
        .tests(
            "SheafDocumentTests", on: "SheafBytes", "SheafDocument", "SheafDocumentModel",
            "SheafTestSupport"),
        .tests(
            "SheafQueryTests", on: "SheafQuery", "SheafBytes", "SheafDocument", "SheafTestSupport",
            "SheafText"),
        .forTests("SheafSyncModel", on: "SheafBytes", "SheafDocument", "SheafSync"),
        .tests(
            "SheafSyncTests", on: "SheafSync", "SheafBytes", "SheafDocument", "SheafSyncModel",
            "SheafTestSupport"),
        .forTests(
            "SheafHubLogModel", on: "SheafBytes", "SheafDocument", "SheafHubLog", "SheafSync",
            "SheafTestSupport"),
        .tests(
            "SheafHubLogTests", on: "SheafBytes", "SheafDocument", "SheafHubLog",
            "SheafHubLogModel", "SheafSync", "SheafTestSupport"),
        .tests(
            "SheafHubEngineTests", on: "SheafBytes", "SheafDocument", "SheafHubEngine",
            "SheafHubLog", "SheafHubNATS", "SheafHubPostgreSQL", "SheafSync", "SheafSystem",
            "SheafTestSupport"),
        .forTests(
            "SheafMesh", on: "SheafAttachments", "SheafBytes", "SheafDocument", "SheafEngine",
            "SheafHubLog", "SheafQuery", "SheafReplication", "SheafStatements", "SheafStorage",
            "SheafSync", "SheafSystem", "SheafTestSupport", "SheafTransport"),
        .program(
            "sheaf-check", on: "Sheaf", "SheafConformance", "SheafDocumentSimulations",
            "SheafDocumentModel", "SheafIsolation", "SheafMesh", "SheafQueryModel",
            "SheafReference", "SheafSimulator", "SheafStorage", "SheafSystem", "SheafTestSupport"),
        .forTests("SheafNetworkModel", on: "SheafNetwork", "SheafTestSupport", "SheafTransport"),
        .tests(
            "SheafNetworkTests", on: "COpenSSL", "Sheaf", "SheafBytes", "SheafEngine",
            "SheafNetwork", "SheafNetworkModel", "SheafStatements", "SheafStorage", "SheafSystem",
            "SheafTestSupport", "SheafTransport", "sheaf-network"),
        .program(
            "sheaf-network", on: "Sheaf", "SheafBytes", "SheafDocument", "SheafHub",
            "SheafHubEngine", "SheafHubLog", "SheafNetwork", "SheafNetworkModel",
            "SheafReplication", "SheafStatements", "SheafStorage", "SheafStore", "SheafSync",
            "SheafSystem", "SheafTestSupport", "SheafTransfer"),
        .tests(
            "SheafTests", on: "Sheaf", "SheafAttachments", "SheafBytes", "SheafConformance",
            "SheafDocument", "SheafDocumentSimulations", "SheafDocumentModel", "SheafEngine",
            "SheafHub", "SheafHubLog", "SheafIsolation", "SheafMesh", "SheafNetwork", "SheafQuery",
            "SheafQueryModel", "SheafReference", "SheafReplication", "SheafStatements",
            "SheafStorage", "SheafSync", "SheafSystem", "SheafTestSupport", "SheafText",
            "SheafTransfer", "sheaf-check", exclude: ["Plans"]),
        .tests(
            "DittoNamesTests", on: "DittoNames", "Sheaf", "SheafEngine", "SheafNetwork",
            "SheafStatements", "SheafTestSupport"),
        .tests(
            "SheafStorageTests", on: "SheafBytes", "SheafSimulator", "SheafStorage", "SheafSystem",
            "SheafTestSupport"),
        .tests(
            "SheafTransferTests", on: "Sheaf", "SheafAttachments", "SheafBytes", "SheafDocument",
            "SheafEngine", "SheafQuery", "SheafStatements", "SheafStorage", "SheafSystem",
            "SheafTestSupport", "SheafTransfer"),
        .tests(
            "SheafHubTests", on: "Sheaf", "SheafBytes", "SheafDocument", "SheafHub",
            "SheafHubEngine", "SheafHubLog", "SheafInspector", "SheafReplication",
            "SheafStatements", "SheafStorage", "SheafStore", "SheafSync", "SheafSystem",
            "SheafTestSupport", "SheafTransport"),
        .tests(
            "SheafInspectorTests", on: "Sheaf", "SheafDocument", "SheafInspector",
            "SheafReplication", "SheafStatements", "SheafStorage", "SheafStore", "SheafSync",
            "SheafSystem", "SheafTestSupport", "SheafTool"),
        // They run the tool as it was built, and so depend on it.
        .tests(
            "SheafToolTests", on: "Sheaf", "SheafCompletion", "SheafDocument", "SheafEngine",
            "SheafLineEditor", "SheafNetwork", "SheafQuery", "SheafReference", "SheafReplication",
            "SheafStatements", "SheafStorage", "SheafSystem", "SheafTestSupport", "SheafTool",
            "SheafTransfer"),
    ],
    swiftLanguageModes: [.v6]
)

// The benchmarks need other databases, and so are targets only with this variable.
if Context.environment["SHEAF_BENCHMARKS"] != nil {
    package.targets += [
        .system(
            "CSQLite", "sqlite3", apt: "libsqlite3-dev", brew: "sqlite",
            path: "Benchmarks/Sources/CSQLite"),
        .system(
            "CLMDB", "lmdb", apt: "liblmdb-dev", brew: "lmdb", path: "Benchmarks/Sources/CLMDB"),
        .system(
            "CRocksDB", "rocksdb", apt: "librocksdb-dev", brew: "rocksdb",
            path: "Benchmarks/Sources/CRocksDB"),
        .systemLibrary(
            name: "CLevelDB", path: "Benchmarks/Sources/CLevelDB",
            providers: [.apt(["libleveldb-dev"]), .brew(["leveldb"])]),
        // C helpers: a sink for results and the type of a file system.
        .systemLibrary(name: "CBench", path: "Benchmarks/Sources/CBench"),
        // Rounds, statistics, output and the command line, independent of any database.
        .forBenchmarks("BenchHarness", on: "CBench"),
        .testTarget(
            name: "BenchHarnessTests",
            dependencies: [
                "BenchHarness", "BenchWorkloads", "SheafDocument", "SheafQuery", "SheafTestSupport",
            ],
            path: "Benchmarks/Tests/BenchHarnessTests"),
        // Stores of keys and bytes: the log and the tree of Sheaf, and four other systems.
        .forBenchmarks(
            "BenchStores", on: "BenchHarness", "CLMDB", "CLevelDB", "CRocksDB", "CSQLite",
            "SheafBytes", "SheafStorage"),
        // The workloads of files, on Sheaf and on SQLite.
        .forBenchmarks(
            "BenchWorkloads", on: "BenchHarness", "BenchStores", "CSQLite", "Sheaf", "SheafBytes",
            "SheafDocument", "SheafQuery", "SheafText", resources: [.embedInCode("DuckDB/Program")]),
        // The workloads of documents and peers.
        .executableTarget(
            name: "sheaf-bench",
            dependencies: [
                "BenchHarness", "BenchStores", "BenchWorkloads", "CLMDB", "CSQLite", "Sheaf",
                "SheafBytes", "SheafDocument", "SheafInspector", "SheafNetwork", "SheafQuery",
                "SheafReplication", "SheafStatements", "SheafStorage", "SheafSync", "SheafSystem",
                "SheafTransfer",
            ],
            path: "Benchmarks/Sources/SheafBench"),
        // Single operations, whose instructions and allocations are counted.
        .executableTarget(
            name: "sheaf-counted",
            dependencies: [
                "BenchStores", "SheafDocument", "SheafQuery", "SheafStatements", "SheafStore",
            ],
            path: "Benchmarks/Sources/CountedOperations"),
        // Random statements executed by Sheaf and by SQLite.
        .executableTarget(
            name: "sheaf-second-opinion",
            dependencies: [
                "BenchHarness", "CSQLite", "Sheaf", "SheafDocument", "SheafQuery",
                "SheafQueryModel", "SheafTestSupport",
            ],
            path: "Benchmarks/Sources/SecondOpinion", exclude: ["README.md"]),
    ]
}

// The fuzzers are linked with libFuzzer, which provides `main`: `Tests/Fuzzing/run` sets the variable.
if Context.environment["SHEAF_FUZZING"] != nil {
    let models: KeyValuePairs = [
        "FuzzDiscovery": "SheafNetworkModel", "FuzzDocuments": "SheafDocumentModel",
        "FuzzFrames": "SheafSyncModel", "FuzzHubLog": "SheafHubLogModel",
        "FuzzPresence": "SheafSyncModel", "FuzzSessions": "SheafMesh",
        "FuzzStatements": "SheafQuery",
    ]
    for (name, model) in models {
        package.targets.append(
            .executableTarget(
                name: name, dependencies: [.target(name: model)],
                path: "Tests/Fuzzing/Sources/\(name)",
                swiftSettings: [.unsafeFlags(["-parse-as-library"])]))
    }
}

// The traits of hub logs build every target anew, so `Tests/HubEngines/run` leaves out other tests.
if Context.environment["SHEAF_HUB_ENGINES"] != nil {
    package.targets.removeAll { $0.type == .test && $0.name != "SheafHubEngineTests" }
}

for target in package.targets where target.type != .system {
    target.swiftSettings = settings + (target.swiftSettings ?? [])
}
