import SheafStorage
import SheafTestSupport
import Testing

/// Backups on disks whose power is cut, or that fail, at each call.
struct BackupCrashTests {
    private let store: StoreEngine
    private let source = MemoryVolume()
    private let expected: [String: String]

    init() throws {
        store = try StoreEngine(opening: source, options: SmallStore.options(seed: 5))
        var content = SmallStore.Content()
        for number in 1...9 { try SmallStore.commit(number, to: store, &content) }
        store.compactEverything()
        while try store.compactionStep() {}
        try store.writeCheckpoint()
        for number in 10...13 { try SmallStore.commit(number, to: store, &content) }
        expected = content.payloads
        guard let attachments = try source.directory("attachments", creating: true) else { return }
        for name in ["a.whole", "b.whole", "c.part"] {
            let file = try attachments.open(name, .create)
            try Array(name.utf8).withUnsafeBytes { try file.writeFully($0, at: 0) }
            file.close()
        }
    }

    private func backUp(to tree: SimulatedTree, _ name: String = "new") throws {
        let random = SeededSource(seed: 77)
        let engine = store
        _ = try BackupWriter.write(
            BackupSource(volume: source) { engine.snapshot() },
            to: BackupTarget(parent: tree, name: name),
            BackupWriter.Options(random: { random.next() }, attachments: .none))
    }

    /// Expects a complete backup, and returns whether there is one.
    private func checkBackup(_ name: String, in tree: SimulatedTree, _ hint: String) throws -> Bool
    {
        guard try tree.names().contains(name) else { return false }
        guard let volume = try tree.directory(name, creating: false) else {
            Issue.record("\(hint): \(name) is no directory")
            return true
        }
        let result = try Verifier.verify(volume)
        #expect(!result.isDamaged, "\(hint): \(result.findings)")
        #expect(result.lastCommit == store.snapshot().commit, "\(hint)")
        let attachments = try volume.directory("attachments", creating: false)?.names().sorted()
        #expect(attachments == ["a.whole", "b.whole"], "\(hint)")
        #expect(try SmallStore.payloads(in: volume) == expected, "\(hint)")
        return true
    }

    @Test func `a power cut at any call leaves a complete backup or none`() throws {
        var (crashes, completed) = (0, 0)
        for call in 1... {
            var isDone = false
            for seed in 0..<6 as Range<UInt64> {
                let tree = SimulatedTree(seed: seed)
                tree.crashAtCall(call)
                let hint = "call \(call), seed \(seed)"
                do {
                    try backUp(to: tree)
                    isDone = true
                } catch {
                    #expect(tree.isPowerCut, "\(hint): \(error)")
                }
                // A backup that returned survives the power cut.
                let after = tree.powerCut(seed: seed &* 1_000 &+ UInt64(call))
                let isComplete = try checkBackup("new", in: after, hint)
                #expect(isComplete || !isDone, "\(hint): the backup is missing")
                crashes += 1
                completed += isComplete ? 1 : 0
                // The next backup removes what the crash left.
                try backUp(to: after, isComplete ? "other" : "new")
                #expect(
                    try after.names().sorted() == (isComplete ? ["new", "other"] : ["new"]),
                    "\(hint)")
                #expect(try checkBackup(isComplete ? "other" : "new", in: after, hint))
            }
            if isDone { break }
        }
        print("\(crashes) power cuts, \(completed) of them after a complete backup")
        #expect(crashes > 150)
    }

    @Test(arguments: [VolumeError.Code.inputOutput, .noSpace])
    func `a failure of any call leaves a complete backup or none, and nothing else`(
        _ code: VolumeError.Code
    ) throws {
        for call in 1... {
            let tree = SimulatedTree()
            tree.failAtCall(call, code)
            do {
                try backUp(to: tree)
                let isDone = tree.callCount < call
                tree.removeFault()
                #expect(try checkBackup("new", in: tree, "call \(call)"))
                if isDone { return }
            } catch {
                let names = try tree.names()
                #expect(names.isEmpty, "call \(call): \(error) left \(names)")
                // That text advises to open the store again, which does not help here.
                #expect(!"\(error)".hasPrefix("the disk is full: "), "call \(call): \(error)")
            }
        }
    }

    @Test func `nothing of a canceled backup is left by a later power cut`() throws {
        let tree = SimulatedTree()
        let engine = store
        #expect(throws: StorageError.cancelled) {
            _ = try BackupWriter.write(
                BackupSource(volume: source) { engine.snapshot() },
                to: BackupTarget(parent: tree, name: "new"),
                BackupWriter.Options(
                    random: { 77 }, attachments: .none,
                    onProgress: { _ throws(StorageError) in throw .cancelled }))
        }
        for seed in 0..<16 as Range<UInt64> {
            #expect(try tree.powerCut(seed: seed).names().isEmpty, "seed \(seed)")
        }
    }
}
