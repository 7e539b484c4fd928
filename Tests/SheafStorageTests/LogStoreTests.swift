import SheafStorage
import SheafTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite struct LogStoreTests {
    @Test func `commits survive closing and reopening`() async throws {
        let directory = TemporaryDirectory()
        let store = try LogStore.open(at: directory.path)
        for number in 1...100 {
            var batch = WriteBatch()
            try batch.put(Array("key\(number % 10)".utf8), Array("value\(number)".utf8))
            let commit = try store.append(batch)
            try await store.waitForDurability(of: commit)
            #expect(commit == CommitID(number) && store.snapshot().commit == commit)
        }
        try store.close()

        let again = try LogStore.open(at: directory.path)
        let snapshot = again.snapshot()
        #expect(snapshot.commit == 100)
        #expect(snapshot.count == 10)
        for number in 91...100 {
            let key = Array("key\(number % 10)".utf8)
            let payload = try key.span.withUnsafeBytes { try snapshot.payload(of: $0) }
            #expect(payload.map { String(decoding: $0, as: UTF8.self) } == "value\(number)")
        }
        try again.close()
    }

    @Test func `a file size limit of the process fails the commit, not the process`()
        async throws
    {
        let directory = TemporaryDirectory()
        let path = directory.path
        await #expect(processExitsWith: .exitCode(7)) { [path = path as String] in
            let store = try LogStore.open(at: path)
            var limit = rlimit(rlim_cur: 64 << 10, rlim_max: 64 << 10)
            #if canImport(Glibc)
                setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            #else
                setrlimit(RLIMIT_FSIZE, &limit)
            #endif
            do throws(StorageError) {
                for number in 0..<1_000 {
                    var batch = WriteBatch()
                    try batch.put([1], [UInt8](repeating: UInt8(number % 256), count: 1_000))
                    try await store.waitForDurability(of: store.append(batch))
                }
            } catch .full {
                exit(7)
            }
        }
        #expect(try LogStore.open(at: path).snapshot().commit < 1_000)
    }

    @Test func `commits succeed while the maintenance thread prepares segments`() async throws {
        var options = LogStoreOptions()
        options.segmentLength = 4_096
        options.history = HistoryHorizon(commits: 10)
        let volume = SimulatedVolume(seed: 1)
        let store = try LogStore(volume: volume, options: options)
        // Every few commits need a new segment, and both threads compete to prepare it.
        for number in 1...2_000 {
            var batch = WriteBatch()
            try batch.put(Array("key\(number % 50)".utf8), [UInt8](repeating: 1, count: 900))
            let commit = try store.append(batch)
            try await store.waitForDurability(of: commit)
            #expect(commit == CommitID(number))
        }
        try store.close()
    }

    @Test func `segments of a bulk load have at least twice the length of its flushes`() throws {
        let flushCount = 16
        var counts: [Int] = []
        for flushLength in [0, 2 << 20] {
            var options = LogStoreOptions()
            options.segmentLength = 1 << 20
            options.bulkFlushLength = flushLength
            let volume = MemoryVolume()
            let store = try StoreEngine(opening: volume, options: options)
            for number in 0..<flushCount {
                var batch = WriteBatch()
                for part in 0..<8 {
                    let payload = [UInt8](repeating: UInt8(number), count: 256 << 10)
                    try batch.put(Array("\(number)/\(part)".utf8), payload)
                }
                _ = try store.append(batch)
                try store.flush()
            }
            try store.close()
            counts.append(try volume.names().count { $0.hasSuffix(".log") })
            #expect(try StoreEngine(opening: volume).snapshot().count == flushCount * 8)
        }
        // Until the first long flush, segments have the usual length.
        #expect(counts[0] >= 2 * flushCount && counts[1] <= flushCount / 2 + 4, "\(counts)")
    }
}
