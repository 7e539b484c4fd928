import Sheaf
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSystem
import SheafTestSupport

/// Restores of a store from backups of its files and of its file system, into its old path.
///
/// The store and a peer must then have the writes before and after the backup and after the
/// restore.
enum RestoredBackups {
    /// A tool that restores files.
    private enum Tool: String, CaseIterable {
        case image, tar, copy, reflink, rsync, rsyncInPlace

        /// Whether the next opening detects the restore from the files.
        var isDetected: Bool { self != .image }

        func isAvailable(on fileSystem: String) -> Bool {
            switch self {
            case .reflink: fileSystem != "ext4"
            case .rsync, .rsyncInPlace: LoopDisk.isInstalled("rsync")
            default: true
            }
        }

        /// Shell commands that back up and restore a directory.
        var commands: (keep: String, bringBack: String) {
            let empty = "find store -mindepth 1 -delete"
            let copy = "mkdir backup && cp -a store/. backup/"
            return switch self {
            case .image: ("true", "true")
            // `tar` exits with 1 if a file grows meanwhile, as the prepared segment of an open
            // store does.
            case .tar:
                ("{ tar cf backup.tar store || [ $? = 1 ]; }", "\(empty) && tar xf backup.tar")
            case .copy: (copy, "\(empty) && cp -a backup/. store/")
            case .reflink:
                (
                    "mkdir backup && cp -a --reflink=always store/. backup/",
                    "\(empty) && cp -a --reflink=always backup/. store/"
                )
            case .rsync: ("rsync -a store/ backup", "rsync -a --delete backup/ store")
            case .rsyncInPlace:
                ("rsync -a store/ backup", "rsync -a --delete --inplace backup/ store")
            }
        }
    }

    /// State of the store during the backup.
    private enum Moment: String, CaseIterable {
        /// While the store is closed, or open and not written to.
        case closed, open
    }

    private static let fileSystems = ["ext4", "xfs", "btrfs"]
    /// Smallest size that all file systems support.
    private static let megabytes = 320
    private static let patienceNanoseconds: UInt64 = 60_000_000_000

    /// Runs all cases that the tools of this machine permit; returns a summary.
    static func run(rounds: Int) async throws -> String {
        var (done, skipped): ([String], [String]) = ([], [])
        for fileSystem in fileSystems {
            guard LoopDisk.isInstalled("mkfs.\(fileSystem)") else {
                skipped.append(fileSystem)
                continue
            }
            for tool in Tool.allCases {
                for moment in Moment.allCases {
                    let name = "\(fileSystem) \(tool.rawValue) \(moment.rawValue)"
                    // An image of a mounted file system is not a valid backup. rsync does not
                    // restore the site mark if the backup contains the same mark.
                    let isValid = moment == .closed || [.tar, .copy, .reflink].contains(tool)
                    guard isValid, tool.isAvailable(on: fileSystem) else {
                        if isValid { skipped.append(name) }
                        continue
                    }
                    for _ in 0..<rounds { try await check(name, fileSystem, tool, moment) }
                    done.append(name)
                }
            }
        }
        let rest = skipped.isEmpty ? "" : "; skipped: \(skipped.joined(separator: ", "))"
        return "nothing lost: \(done.joined(separator: ", "))\(rest)"
    }

    /// A store on a disk that is restored, and a peer that receives the writes of the store.
    private final class Scene {
        let directory = TemporaryDirectory()
        let network = MemoryNetwork(connectsAll: false)
        let key = PeerKey.random()
        let disk: LoopDisk
        let server: Peer

        init(_ fileSystem: String) async throws {
            disk = try LoopDisk(
                in: directory, fileSystem: fileSystem, megabytes: RestoredBackups.megabytes)
            let serverKey = PeerKey.random()
            server = try await Peer.inMemory(
                configuration: PeerConfiguration(
                    databaseID: "backups", key: serverKey,
                    transports: [network.transport(for: serverKey)]))
            try server.sync.registerSubscription("SELECT * FROM cars")
            try server.sync.start()
        }

        func shell(_ command: String) throws {
            try LoopDisk.call("sh", ["-c", "cd \(disk.mountPoint) && \(command)"])
        }

        /// Opens the store, runs `body`, and closes it.
        func open<Result>(_ body: (Peer) async throws -> Result) async throws -> Result {
            let peer = try await Peer.open(
                at: disk.mountPoint + "/store",
                configuration: PeerConfiguration(
                    databaseID: "backups", key: key, transports: [network.transport(for: key)]))
            try peer.sync.start()
            let result = try await body(peer)
            network.disconnect(key, server.key)
            try await peer.close()
            return result
        }

        /// Sets a field of two cars.
        func write(_ field: String, _ peer: Peer) async throws {
            for id in ["a", "b"] {
                let car: Value = ["_id": .string(id), field: 1]
                try await peer.store.execute(
                    "INSERT INTO cars DOCUMENTS (:car) ON ID CONFLICT DO UPDATE", ["car": car])
            }
        }

        /// Waits until a peer has these fields in both cars; connections may end meanwhile.
        func wait(for fields: [String], at peer: Peer) async throws {
            let wanted = ["a", "b"].map { id in
                (["\"_id\":\"\(id)\""] + fields.sorted().map { "\"\($0)\":1" })
                    .joined(separator: ",")
            }.map { "{\($0)}" }
            let end =
                Clock.system.monotonicNanoseconds() + RestoredBackups.patienceNanoseconds
            var found: [String] = []
            while Clock.system.monotonicNanoseconds() < end {
                network.connect(key, server.key)
                let rows = try await peer.store.execute("SELECT * FROM cars ORDER BY _id")
                found = try rows.items.map { try $0.jsonString }
                if found == wanted { return }
                await Task.yield()
            }
            throw CrashFailure("\(found) instead of \(wanted)")
        }
    }

    private static func check(
        _ name: String, _ fileSystem: String, _ tool: Tool, _ moment: Moment
    ) async throws {
        do {
            let scene = try await Scene(fileSystem)
            let (keep, bringBack) = tool.commands
            let backup = scene.directory.path("backup")
            let site = try await scene.open { peer in
                try await scene.write("first", peer)
                try await scene.wait(for: ["first"], at: scene.server)
                if moment == .open {
                    try scene.shell(keep)
                    try await scene.write("lost", peer)
                    try await scene.wait(for: ["first", "lost"], at: scene.server)
                }
                return peer.store.queries.documents.site
            }
            if moment == .closed {
                try scene.shell(keep)
                if tool == .image {
                    try scene.disk.unmount()
                    try LoopDisk.call("cp", ["--sparse=always", scene.disk.image, backup])
                    try scene.disk.mount()
                }
                try await scene.open { peer in
                    try await scene.write("lost", peer)
                    try await scene.wait(for: ["first", "lost"], at: scene.server)
                }
            }
            try scene.shell(bringBack)
            if tool == .image {
                try scene.disk.unmount()
                try LoopDisk.call("cp", ["--sparse=always", backup, scene.disk.image])
                try scene.disk.mount()
            }
            try await scene.open { peer in
                let documents = peer.store.queries.documents
                try await scene.write("new", peer)
                guard (documents.site != site) == tool.isDetected else {
                    throw CrashFailure("restore \(tool.isDetected ? "not " : "")detected")
                }
                let all = ["first", "lost", "new"]
                try await scene.wait(for: all, at: scene.server)
                guard documents.site != site else {
                    throw CrashFailure("the store still writes as its old site")
                }
                try peer.sync.registerSubscription("SELECT * FROM cars")
                try await scene.wait(for: all, at: peer)
            }
            try await scene.server.close()
        } catch {
            throw CrashFailure("\(name): \(error)")
        }
    }
}
