import SheafStorage
import SheafSystem
import SheafTestSupport
import Synchronization
import Testing

@Suite struct PosixVolumeFileTests {
    private let directory = TemporaryDirectory()

    private func volume() throws -> PosixVolume {
        try PosixVolume(path: directory.path, creatingDirectory: false)
    }

    @Test func `a closed file refuses every call and does not affect other files`() throws {
        let volume = try volume()
        let file = try volume.open("a", .create)
        try file.writeFully([1, 2, 3], at: 0)
        file.close()
        file.close()
        // These files reuse the descriptor of the closed file.
        let others = try (0..<8).map { try volume.open("b\($0)", .create) }
        file.close()
        let attempts: [() throws -> Void] = [
            { _ = try file.size() },
            { _ = try file.readFully(1, at: 0) },
            { try file.writeFully([9], at: 0) },
            { try file.synchronize() },
            { try file.truncate(to: 7) },
            { _ = try file.map(length: 0, .shared) },
            { _ = try file.map(length: 8, .copyOnWrite) },
        ]
        for (number, attempt) in attempts.enumerated() {
            #expect(code(attempt) == .closed, "attempt \(number)")
        }
        for other in others {
            try other.writeFully([5], at: 0)
            #expect(try other.size() == 1)
        }
    }

    @Test func `a file may be closed while other threads read it`() throws {
        let volume = try volume()
        try volume.write([UInt8](repeating: 7, count: 64), to: "a")
        try volume.write([UInt8](repeating: 8, count: 64), to: "b")
        let wrong = Atomic<Int>(0)
        for _ in 0..<20 {
            let file = try volume.open("a", .read)
            let reads = Counter()
            let threads = try (0..<3).map { number in
                try Thread(name: "reader \(number)") {
                    while let bytes = try? file.readFully(64, at: 0) {
                        reads.add(bytes.allSatisfy { $0 == 7 } ? 0 : 1)
                    }
                }
            }
            file.close()
            let others = try (0..<4).map { _ in try volume.open("b", .read) }
            for thread in threads { thread.join() }
            wrong.add(reads.sum, ordering: .relaxed)
            for other in others { other.close() }
        }
        #expect(wrong.load(ordering: .relaxed) == 0)
    }

    @Test func `opening and closing ten thousand files leaks no descriptor`() throws {
        let volume = try volume()
        try volume.write([1], to: "a")
        // Other tests open files concurrently, so only a large leak is detectable.
        let before = try openDescriptors()
        for _ in 0..<10_000 {
            let file = try volume.open("a", .read)
            _ = try file.map(length: 1, .shared)
            file.close()
        }
        for _ in 0..<1_000 {
            _ = try volume.open("a", .write)
            _ = try volume.names()
            _ = try volume.lock()
            _ = code { _ = try volume.open("missing", .read) }
        }
        for _ in 0..<200 {
            // Fewer rounds suffice, and each call waits for the disk.
            _ = try PosixVolume(path: directory.path, creatingDirectory: true)
        }
        #expect(try openDescriptors() < before + 100)
    }

    @Test func `a shared mapping shows later writes, even past the old end of the file`() throws {
        let volume = try volume()
        let file = try volume.open("a", .create)
        try file.writeFully([1, 2, 3], at: 0)
        let mapping = try file.map(length: 1 << 20, .shared)
        #expect(mapping.count == 1 << 20)
        #expect(mapping.array(4) == [1, 2, 3, 0])
        try file.writeFully([9], at: 1)
        try file.writeFully([UInt8](repeating: 4, count: 10_000), at: 3)
        file.close()
        try volume.remove("a")
        #expect(mapping.array(5) == [1, 9, 3, 4, 4])
        #expect(mapping.array(10_003).last == 4)
    }

    @Test func `a copy-on-write mapping does not change the file`() throws {
        let volume = try volume()
        try volume.write([1, 2, 3], to: "a")
        let file = try volume.open("a", .read)
        let mapping = try file.map(length: 3, .copyOnWrite)
        mapping.base.storeBytes(of: 77, as: UInt8.self)
        #expect(mapping.array() == [77, 2, 3])
        #expect(try volume.contents(of: "a") == [1, 2, 3])
    }

    @Test func `an empty mapping is valid`() throws {
        let file = try volume().open("a", .create)
        for mode in [MappingMode.shared, .copyOnWrite] {
            let mapping = try file.map(length: 0, mode)
            #expect(mapping.count == 0)
            #expect(mapping.array().isEmpty)
        }
        #expect(code { _ = try file.map(length: -1, .shared) } != nil)
    }

    private func openDescriptors() throws -> Int {
        try PosixVolume(path: "/proc/self/fd", creatingDirectory: false).names().count
    }
}
