// swift-tools-version: 6.2
import Foundation
import PackageDescription

// The compiler grants access to `package` declarations only under the same package name, which the
// build derives from the directory name of the engine. This is the same derivation.
let root = URL(fileURLWithPath: Context.packageDirectory)
    .deletingLastPathComponent().deletingLastPathComponent().lastPathComponent
let packageName = String(
    root.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
    // The fuzzer provides `main`.
    .unsafeFlags(["-package-name", packageName, "-parse-as-library"]),
]

let package = Package(
    name: "sheaf-fuzzing",
    dependencies: [.package(name: "sheaf", path: "../..")],
    targets: [
        .executableTarget(
            name: "FuzzDocuments",
            dependencies: [.product(name: "SheafDocumentModel", package: "sheaf")],
            packageAccess: false, swiftSettings: settings),
        .executableTarget(
            name: "FuzzFrames",
            dependencies: [.product(name: "SheafSyncModel", package: "sheaf")],
            packageAccess: false, swiftSettings: settings),
        .executableTarget(
            name: "FuzzPresence",
            dependencies: [.product(name: "SheafSyncModel", package: "sheaf")],
            packageAccess: false, swiftSettings: settings),
        .executableTarget(
            name: "FuzzSessions",
            dependencies: [.product(name: "SheafMesh", package: "sheaf")],
            packageAccess: false, swiftSettings: settings),
        .executableTarget(
            name: "FuzzStatements",
            dependencies: [.product(name: "SheafQuery", package: "sheaf")],
            packageAccess: false, swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
