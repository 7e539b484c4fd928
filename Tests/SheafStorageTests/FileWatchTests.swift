import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Watches of the synced mark, which readers wait for.
@Suite struct FileWatchTests {
    private let directory = TemporaryDirectory()

    private func volume() throws -> PosixVolume {
        try PosixVolume(path: directory.path, creatingDirectory: false)
    }

    @Test(arguments: ["target", "../target", "nowhere", FileName.syncedName])
    func `a symbolic link is not watched, and the file that replaces it is`(
        _ target: String
    ) throws {
        let store = try PosixVolume(path: directory.path("store"), creatingDirectory: true)
        for volume in [store, try volume()] { try volume.write([1], to: "target") }
        #expect(symlink(target, directory.path("store/" + FileName.syncedName)) == 0)
        #expect(store.watch(FileName.syncedName) == nil)
        // The first writer replaces the link.
        let engine = try StoreEngine(opening: store)
        defer { try? engine.close() }
        #if !canImport(Darwin)
            let watch = try #require(store.watch(FileName.syncedName))
            var batch = WriteBatch()
            try batch.put([1], [2])
            _ = try engine.append(batch)
            try engine.flush()
            let start = Clock.system.monotonicNanoseconds()
            watch.wait(milliseconds: 600_000)
            let waited = Clock.system.monotonicNanoseconds() - start
            #expect(waited < 300_000_000_000, "The commit has no event.")
        #endif
    }

    #if !canImport(Darwin)
        @Test func `a wait collects events for ten milliseconds after the last ones`() {
            // The time is rounded up to milliseconds.
            for (elapsed, pause) in [
                (0, 10), (1, 10), (1_000_000, 9), (8_999_999, 2), (9_000_000, 1), (9_999_999, 1),
                (10_000_000, 0), (10_000_001, 0), (.max, 0),
            ] as [(UInt64, Int32)] {
                #expect(FileWatch.pauseMilliseconds(at: elapsed, eventsAt: 0) == pause)
            }
        }

        @Test func `events that another thread reads meanwhile are the last ones`() {
            #expect(FileWatch.pauseMilliseconds(at: 7, eventsAt: 8) == 10)
            #expect(FileWatch.pauseMilliseconds(at: 0, eventsAt: .max) == 10)
        }
    #endif

    @Test func `only a regular file is watched`() throws {
        let volume = try volume()
        #expect(mkfifo(directory.path("pipe"), 0o644) == 0)
        #expect(mkdir(directory.path("directory"), 0o755) == 0)
        for name in ["pipe", "directory", "missing", "../outside", ""] {
            #expect(volume.watch(name) == nil, "\(name)")
        }
    }
}
