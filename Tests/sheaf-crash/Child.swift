import SheafStorage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The process that is to be killed.
enum Child {
    /// Commits for ever, and prints each commit once it is acknowledged.
    static func load(_ path: String) async throws {
        let store = try LogStore.open(at: path, options: CrashLoad.options)
        print("open", to: 1)
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<CrashLoad.writerCount {
                group.addTask {
                    do {
                        try await write(writer, to: store)
                    } catch {
                        print("writer \(writer) failed: \(error)", to: 1)
                    }
                }
            }
        }
    }

    /// Keeps a store open until the process is killed.
    static func hold(_ path: String) throws {
        let store = try LogStore.open(at: path, options: CrashLoad.options)
        print("open", to: 1)
        while true { _ = withExtendedLifetime(store) { pause() } }
    }

    private static func write(_ writer: Int, to store: LogStore) async throws {
        var count = try CrashLoad.count(of: writer, in: store.snapshot())
        while true {
            count += 1
            _ = try await store.commit(CrashLoad.batch(writer, count))
            print("\(writer) \(count)", to: 1)
        }
    }

    /// One call for one line: what is printed does not die with the process.
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
