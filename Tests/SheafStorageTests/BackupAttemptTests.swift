import SheafStorage
import SheafTestSupport
import Synchronization
import Testing

/// The numbers of attempts after which a backup is refused.
@Suite struct BackupAttemptTests {
    private let directory = TemporaryDirectory()

    /// Creates a store with a commit.
    private func store() throws -> StoreEngine {
        let store = try StoreEngine(
            opening: try PosixVolume(path: directory.path("store"), creatingDirectory: true),
            options: SmallStore.options(seed: 9))
        var content = SmallStore.Content()
        try SmallStore.commit(1, to: store, &content)
        return store
    }

    /// Copies a store; returns the text of the error, if any.
    private func refusal(
        of source: BackupSource, _ options: BackupWriter.Options
    ) -> String? {
        do throws(StorageError) {
            _ = try BackupWriter.write(
                source, at: source.volume.path, to: directory.path("new"), since: nil, options)
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// Creates a temporary directory that no backup removes, because it has a foreign file.
    private func take(_ number: Int) throws {
        let digits = String(number, radix: 16)
        let name = "new." + String(repeating: "0", count: 16 - digits.count) + digits
        let volume = try PosixVolume(
            path: directory.path(name + ".unfinished"), creatingDirectory: true)
        try volume.open("foreign", .create).close()
    }

    @Test(arguments: [0, 1, 15, 16, 17])
    func `a backup tries 16 names before it is refused`(taken: Int) throws {
        let store = try store()
        for number in 0..<taken { try take(number) }
        var drawn = 0
        let text = refusal(
            of: BackupSource(volume: store.volume) { store.snapshot() },
            BackupWriter.Options(
                random: {
                    defer { drawn += 1 }
                    return UInt64(drawn)
                }, attachments: .none))
        if taken < 16 {
            #expect(text == nil)
        } else {
            #expect(text?.contains("removed the directory of this one 16 times") == true)
            #expect(drawn == 16)
        }
        try store.close()
    }

    /// Creates the file of an attachment.
    private static func create(_ number: Int, in files: any Volume) throws(VolumeError) {
        let file = try files.open("\(number).whole", .create)
        defer { file.close() }
        try file.writeFully([1], at: 0)
    }

    @Test(arguments: [0, 1, 9, 10, 11])
    func `a backup tries 10 snapshots while attachments are removed`(removals: Int) throws {
        let store = try store()
        let files = try #require(
            try store.volume.directory(FileName.attachmentsName, creating: true))
        try Self.create(0, in: files)
        let taken = Mutex(0)
        let source = BackupSource(volume: store.volume) {
            let number = taken.withLock { taken in
                defer { taken += 1 }
                return taken
            }
            // The listed file is removed before it is copied, and another file is added.
            if number < removals {
                try? files.remove("\(number).whole")
                try? Self.create(number + 1, in: files)
            }
            return store.snapshot()
        }
        let text = refusal(
            of: source, BackupWriter.Options(random: { 7 }, attachments: .none))
        if removals < 10 {
            #expect(text == nil)
            #expect(taken.withLock { $0 } == removals + 1)
        } else {
            let part = "attachments were removed during each of 10 attempts"
            #expect(text?.contains(part) == true, "\(text ?? "")")
            #expect(taken.withLock { $0 } == 10)
        }
        try store.close()
    }
}
