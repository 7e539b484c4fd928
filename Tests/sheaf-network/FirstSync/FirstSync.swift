import SheafSystem
import SheafTestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// First syncs between two processes over TCP, with stores on disk, and what they may cost.
struct FirstSync {
    enum Scene: String, CaseIterable { case rate, restart, differences, live, kills }

    static let usage =
        "sheaf-network first-sync DOCUMENTS [--scenes rate,restart,differences,live,kills] "
        + "[--directory NEW] [--seed NUMBER]"
    /// Maximum time of a wait for a process.
    static let patienceNanoseconds: UInt64 = 120_000_000_000

    var count = 200_000
    var scenes = Scene.allCases
    var seed = UInt64.random(in: 0..<1_000_000_000)
    private var path: String?
    /// The directory of the stores, unless the caller names one; removed at the end of the run.
    private let temporary = TemporaryDirectory()
    /// The bytes of all documents in a first sync that nothing interrupted; nil before it.
    ///
    /// After it the server and the receiver `equal` have the same documents.
    var documentBytes: Int?
    var figures = FirstSyncFigures()

    /// Parses the arguments; nil if they are invalid.
    init?(_ arguments: [String]) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--scenes":
                let names = (rest.popFirst() ?? "").split(separator: ",")
                scenes = names.compactMap { Scene(rawValue: String($0)) }
                guard scenes.count == names.count, !scenes.isEmpty else { return nil }
            case "--directory":
                guard let name = rest.popFirst() else { return nil }
                path = name
            case "--seed":
                guard let number = UInt64(rest.popFirst() ?? "") else { return nil }
                seed = number
            default:
                guard let number = Int(argument), number > 0 else { return nil }
                count = number
            }
        }
    }

    var stores: FirstSyncStores { FirstSyncStores(directory: path ?? temporary.path) }

    /// Runs the scenes; throws if a limit is broken.
    mutating func run() async throws {
        signal(SIGPIPE, SIG_IGN)
        if let path, mkdir(path, 0o700) != 0 {
            throw FirstSyncFailure("cannot create the directory \(path)")
        }
        print("seed \(seed), \(count) documents")
        try await stores.fill(count)
        for scene in scenes {
            figures.scene = scene.rawValue
            switch scene {
            case .rate: try runRate()
            case .restart: try runRestart()
            case .differences: try await runDifferences()
            case .live: try runLive()
            case .kills: try runKills()
            }
        }
        guard figures.broken.isEmpty else {
            throw FirstSyncFailure(
                "\(figures.broken.count) limits broken:\n" + figures.broken.joined(separator: "\n"))
        }
    }
}
