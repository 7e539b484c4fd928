// swift-tools-version: 6.2
import Foundation
import PackageDescription

// The benchmarks use `package` declarations of the engine, which requires the same package name.
// The build derives that name from the engine's directory, and so does this code.
let parent = URL(fileURLWithPath: Context.packageDirectory)
    .deletingLastPathComponent().lastPathComponent
let packageName = String(
    parent.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })

// LevelDB is included only if its header is installed; the other databases are required.
let hasLevelDB = ["/usr/include", "/usr/local/include", "/opt/homebrew/include"].contains {
    FileManager.default.fileExists(atPath: "\($0)/leveldb/c.h")
}

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .treatAllWarnings(as: .error),
        .unsafeFlags(["-package-name", packageName]),
    ] + (hasLevelDB ? [.define("HAS_LEVELDB")] : [])

let package = Package(
    name: "sheaf-benchmarks",
    products: [
        .executable(name: "sheaf-bench", targets: ["SheafBench"]),
        .executable(name: "sheaf-second-opinion", targets: ["SecondOpinion"]),
    ],
    dependencies: [.package(name: "sheaf", path: "..")],
    targets: [
        // C helpers for the benchmarks: a sink for results and the type of a file system.
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        .systemLibrary(
            name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
        .systemLibrary(
            name: "CRocksDB", pkgConfig: "rocksdb",
            providers: [.apt(["librocksdb-dev"]), .brew(["rocksdb"])]),
        .systemLibrary(name: "CBench"),

        // Rounds, statistics, output and the command line, independent of any database.
        .target(
            name: "BenchHarness", dependencies: ["CBench"], packageAccess: false,
            swiftSettings: settings),

        // The workloads and the systems they measure.
        .executableTarget(
            name: "SheafBench",
            dependencies: [
                "BenchHarness", "CSQLite", "CLMDB", "CRocksDB",
                .product(name: "SheafStorage", package: "sheaf"),
                .product(name: "SheafDocument", package: "sheaf"),
                .product(name: "SheafQuery", package: "sheaf"),
                .product(name: "Sheaf", package: "sheaf"),
                .product(name: "SheafNetwork", package: "sheaf"),
                .product(name: "SheafMesh", package: "sheaf"),
            ] + (hasLevelDB ? ["CLevelDB"] : []),
            packageAccess: false, swiftSettings: settings),

        // Random statements executed by Sheaf and by SQLite.
        .executableTarget(
            name: "SecondOpinion",
            dependencies: [
                "BenchHarness", "CSQLite",
                .product(name: "Sheaf", package: "sheaf"),
                .product(name: "SheafDocument", package: "sheaf"),
                .product(name: "SheafQuery", package: "sheaf"),
                .product(name: "SheafQueryModel", package: "sheaf"),
                .product(name: "SheafTestSupport", package: "sheaf"),
            ],
            exclude: ["README.md"], packageAccess: false, swiftSettings: settings),

        .testTarget(
            name: "BenchHarnessTests", dependencies: ["BenchHarness"], packageAccess: false,
            swiftSettings: settings),
    ]
        + (hasLevelDB
            ? [
                .systemLibrary(
                    name: "CLevelDB", providers: [.apt(["libleveldb-dev"]), .brew(["leveldb"])])
            ] : []),
    swiftLanguageModes: [.v6]
)
