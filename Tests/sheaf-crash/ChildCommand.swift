import SheafStorage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The operations of a child process that is killed.
enum ChildCommand {
    /// Commits forever and prints each acknowledged commit.
    static func load(_ path: String) async throws {
        let store = try LogStore.open(at: path, options: CrashLoad.options)
        print("open", to: 1)
        await load(store, commits: .max) { _ in }
    }

    /// Keeps a store open until the process is killed.
    static func hold(_ path: String) throws {
        let store = try LogStore.open(at: path, options: CrashLoad.options)
        print("open", to: 1)
        while true { _ = withExtendedLifetime(store) { pause() } }
    }

    /// Opens and closes a store with at most `room` bytes of additional memory.
    static func open(_ path: String, withOnly room: Int) throws {
        try AddressSpace.limit(toMore: room)
        do {
            let store = try LogStore.open(at: path, options: CrashLoad.options)
            print("open", to: 1)
            try store.close()
        } catch {
            print("the opening failed: \(error)", to: 1)
            exit(1)
        }
    }

    /// Commits until memory runs out; exits with 1 if the writers stop with an error.
    static func starve(_ path: String, room: Int, _ memoryUse: MemoryUse) async throws {
        let store = try LogStore.open(at: path, options: CrashLoad.options)
        print("open", to: 1)
        // The first tasks start the threads of the runtime; later there is no memory for them.
        await load(store, commits: 10) { _ in }
        try AddressSpace.limit(toMore: room)
        await load(store, commits: .max) { hoarded in
            switch memoryUse {
            // Blocks of all sizes, so that any allocation may fail.
            case .bytes: hoarded += (8..<16).map { [UInt8](repeating: 1, count: 1 << $0) }
            case .snapshots: hoarded.append(store.snapshot())
            }
        }
        exit(1)
    }

    private static func load(
        _ store: LogStore, commits: Int, _ keep: @escaping @Sendable (inout [any Sendable]) -> Void
    ) async {
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<CrashLoad.writerCount {
                group.addTask {
                    do {
                        try await write(writer, to: store, commits: commits, keep)
                    } catch {
                        print("writer \(writer) failed: \(error)", to: 1)
                    }
                }
            }
        }
    }

    private static func write(
        _ writer: Int, to store: LogStore, commits: Int, _ keep: (inout [any Sendable]) -> Void
    ) async throws {
        var hoarded: [any Sendable] = []
        var count = try CrashLoad.count(of: writer, in: store.snapshot())
        for _ in 0..<commits {
            count += 1
            try await store.waitForDurability(of: store.append(CrashLoad.batch(writer, count)))
            print("\(writer) \(count)", to: 1)
            keep(&hoarded)
        }
    }

    /// Writes a line in one unbuffered call, so that output survives the process.
    static func print(_ line: String, to descriptor: Int32) {
        let bytes = Array((line + "\n").utf8)
        #if canImport(Glibc)
            _ = Glibc.write(descriptor, bytes, bytes.count)
        #elseif canImport(Musl)
            _ = Musl.write(descriptor, bytes, bytes.count)
        #else
            _ = Darwin.write(descriptor, bytes, bytes.count)
        #endif
    }
}
