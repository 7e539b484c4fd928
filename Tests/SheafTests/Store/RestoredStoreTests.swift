import Sheaf
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import SheafTestSupport
import Testing

/// The sites of stores that are restored, copied, moved or opened again.
struct RestoredStoreTests {
    /// A way to restore files; `copy` and `rsyncInPlace` overwrite files, others create new ones.
    private enum Tool: String, CaseIterable, CustomTestStringConvertible {
        case tar, tarAfterRemoving, copy, copyAfterRemoving, reflink, rsync, rsyncInPlace

        var testDescription: String { rawValue }

        /// Returns the shell commands that back up a directory and restore it.
        func commands(_ store: String, _ backup: String) -> (keep: String, bringBack: String) {
            let copy = "mkdir -p \(backup) && cp -a \(store)/. \(backup)/"
            let empty = "find \(store) -mindepth 1 -delete"
            switch self {
            case .tar:
                // Files that are not in the archive must be removed, or the newest state remains.
                return (
                    "tar cf \(backup).tar -C \(store) . && \(copy)",
                    "\(Self.remove(store, backup)) && tar xf \(backup).tar -C \(store)"
                )
            case .tarAfterRemoving:
                return (
                    "tar cf \(backup).tar -C \(store) .",
                    "\(empty) && tar xf \(backup).tar -C \(store)"
                )
            case .copy:
                return (copy, "\(Self.remove(store, backup)) && cp -a \(backup)/. \(store)/")
            case .copyAfterRemoving: return (copy, "\(empty) && cp -a \(backup)/. \(store)/")
            case .reflink:
                return (
                    copy.replacing("cp -a", with: "cp -a --reflink=auto"),
                    "\(empty) && cp -a --reflink=auto \(backup)/. \(store)/"
                )
            // This acts like `rsync -a --delete`, which skips files of equal length and time.
            case .rsync:
                return (copy, Self.synchronize(store, backup, "cp -p \"$f\" .t && mv .t \"$f\""))
            case .rsyncInPlace:
                return (copy, Self.synchronize(store, backup, "cp -p \"$f\" \"$f\""))
            }
        }

        /// Returns the command that removes files that are not in the backup.
        private static func remove(_ store: String, _ backup: String) -> String {
            "(cd \(store) && for f in *; do [ -e \(backup)/\"$f\" ] || rm -r \"$f\"; done)"
        }

        private static func synchronize(
            _ store: String, _ backup: String, _ write: String
        ) -> String {
            let write = write.replacing("cp -p \"$f\"", with: "cp -p \(backup)/\"$f\"")
            return remove(store, backup)
                + " && (cd \(store) && for f in $(ls \(backup)); do "
                + "[ \"$(stat -c '%s %y' \"$f\" 2>&1)\" = \"$(stat -c '%s %y' \(backup)/\"$f\")\" ]"
                + " || { \(write); }; done)"
        }
    }

    private func run(_ command: String) throws {
        let child = try ChildProcess("sh", ["-c", command])
        #expect(child.wait() == 0, "\(command)")
    }

    /// Opens a store, inserts a document and closes it; returns the site of the store.
    @discardableResult
    private func write(_ id: Int, at path: String) throws -> Site {
        let volume = try PosixVolume(path: path, creatingDirectory: true)
        let simulation = try EngineSimulation(volume)
        try simulation.insert(id)
        defer { simulation.close() }
        return simulation.engine.site
    }

    @Test(arguments: Tool.allCases)
    private func `a store restored in its directory writes as another site`(
        _ tool: Tool
    ) throws {
        let directory = TemporaryDirectory()
        let (store, backup) = (directory.path("store"), directory.path("backup"))
        let site = try write(1, at: store)
        let commands = tool.commands(store, backup)
        try run(commands.keep)
        #expect(try write(2, at: store) == site)
        try run(commands.bringBack)
        let restored = try write(3, at: store)
        #expect(restored != site)
        // The next opening keeps the new site.
        #expect(try write(4, at: store) == restored)
    }

    /// `rsync` is omitted: it skips files with the length and time of the backup.
    @Test(arguments: [Tool.tar, .tarAfterRemoving, .copy, .copyAfterRemoving, .reflink])
    private func
        `a store restored from a backup of its last opening writes as another site`(
            _ tool: Tool
        ) throws
    {
        let directory = TemporaryDirectory()
        let (store, backup) = (directory.path("store"), directory.path("backup"))
        let simulation = try EngineSimulation(try PosixVolume(path: store, creatingDirectory: true))
        let commands = tool.commands(store, backup)
        try simulation.insert(1)
        try run(commands.keep)
        try simulation.insert(2)
        let site = simulation.engine.site
        simulation.close()
        try run(commands.bringBack)
        let restored = try write(3, at: store)
        #expect(restored != site)
        #expect(try write(4, at: store) == restored)
    }

    @Test func `a copy writes as another site and the original keeps its site`() throws {
        let directory = TemporaryDirectory()
        let (store, copy) = (directory.path("store"), directory.path("copy"))
        let site = try write(1, at: store)
        try run("cp -a \(store) \(copy)")
        #expect(try write(2, at: copy) != site)
        #expect(try write(2, at: store) == site)
    }

    /// An identity in the options replaces that of the directory and its mark file.
    @Test func `a copy under another identity in the options writes as another site`() throws {
        let volume = SimulatedVolume(seed: 1)
        let site = try writeSimulated(1, volume, identity: 1)
        #expect(try writeSimulated(2, volume.processDeath(), identity: 1) == site)
        let copy = volume.copy(identity: 2)
        let other = try writeSimulated(2, copy, identity: 2)
        #expect(other != site)
        #expect(try writeSimulated(3, copy.processDeath(), identity: 2) == other)
    }

    @Test func `a store keeps its site when it is opened, moved or only read`() throws {
        let directory = TemporaryDirectory()
        let path = directory.path("store")
        let site = try write(1, at: path)
        for id in 2..<6 { #expect(try write(id, at: path) == site) }
        try run("mv \(path) \(path)2 && cat \(path)2/* > /dev/null && mv \(path)2 \(path)")
        #expect(try write(6, at: path) == site)
        let before = try PosixVolume(path: path, creatingDirectory: false).names().sorted()
        let simulation = try EngineSimulation(try PosixVolume(path: path, creatingDirectory: false))
        #expect(simulation.engine.site == site)
        simulation.close()
        let after = try PosixVolume(path: path, creatingDirectory: false).names().sorted()
        #expect(before == after)
        #expect(after.count { $0.hasSuffix(".site") } == 1)
    }

    @Test func `a store keeps its site when the process dies at any call`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("sites and crashes, seed \(seed)")
        var kept = 0
        for call in 1..<60 {
            let first = SimulatedVolume(seed: seed)
            let site = try writeSimulated(1, first)
            let volume = first.processDeath(seed: 1)
            volume.crashAtCall(call)
            _ = try? writeSimulated(2, volume)
            let next = volume.powerCut(seed: seed &+ UInt64(call))
            let after = try writeSimulated(3, next)
            // The site file that the log references exists at each moment.
            #expect(after == site, "call \(call), seed \(seed)")
            kept += after == site ? 1 : 0
            let restored = next.restored(seed: seed &+ 7)
            #expect(try writeSimulated(4, restored) != site)
        }
        #expect(kept == 59)
    }

    private func writeSimulated(
        _ id: Int, _ volume: SimulatedVolume, identity: UInt64? = nil
    ) throws -> Site {
        let simulation = try EngineSimulation(volume, identity: identity)
        try simulation.insert(id)
        defer { simulation.close() }
        return simulation.engine.site
    }
}

/// A document engine for one opening of a directory.
private final class EngineSimulation {
    let store: StoreEngine
    let engine: DocumentEngine

    init(_ volume: any Volume, identity: UInt64? = nil) throws {
        var options = LogStoreOptions()
        options.identity = identity
        options.runsMaintenance = false
        store = try StoreEngine(opening: volume, options: options)
        engine = try DocumentEngine(store)
    }

    func insert(_ id: Int) throws {
        _ = try engine.commit([
            DocumentChange(
                "cars", .integer(Int64(id)), .insert(["n": 1], onConflict: .fail))
        ]) { (batch) throws(StorageError) in try store.append(batch) }
        _ = try store.flush()
    }

    func close() {
        try? store.close()
    }
}
