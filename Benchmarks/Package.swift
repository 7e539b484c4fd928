// swift-tools-version: 6.2
import Foundation
import PackageDescription

// The engine is measured from inside, through its `package` declarations. The compiler admits a
// module to those only under the same package name, which the build derives from the name of the
// engine's directory: so the name is derived here the same way and given by hand.
let parent = URL(fileURLWithPath: Context.packageDirectory)
    .deletingLastPathComponent().lastPathComponent
let packageName = String(
    parent.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })

// LevelDB is a peer only where its header is installed; the others are required.
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
        // The peers, and what does not import: a sink for results, and the kind of a file system.
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        .systemLibrary(
            name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
        .systemLibrary(
            name: "CRocksDB", pkgConfig: "rocksdb",
            providers: [.apt(["librocksdb-dev"]), .brew(["rocksdb"])]),
        .systemLibrary(name: "CBench"),

        // Rounds, statistics, output and the command line; knows no database.
        .target(
            name: "BenchHarness", dependencies: ["CBench"], packageAccess: false,
            swiftSettings: settings),

        // The workloads and the systems that they measure.
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

        // Random statements, run by Sheaf and by SQLite.
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
