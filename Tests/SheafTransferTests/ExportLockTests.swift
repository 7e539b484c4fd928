import SheafStorage
import SheafTestSupport
import SheafTransfer
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The locks of the files that an export writes.
@Suite struct ExportLockTests {
    private let directory = TemporaryDirectory()

    /// Whether a file can be locked in one of several attempts.
    ///
    /// A process that another test starts has all descriptors until it runs its program.
    private func canBeLocked(_ path: String, attempts: Int = 10_000) throws -> Bool {
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        for _ in 0..<attempts {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
            sched_yield()
        }
        return false
    }

    @Test func `a file is locked while it is written, and not once it is published`() throws {
        let path = directory.path("a.csv")
        do {
            let file = try PendingFile(path: path, replacing: false)
            try ExportStream(file).write("one")
            let volume = try PosixVolume(path: directory.path, creatingDirectory: false)
            let name = try #require(try volume.names().first)
            #expect(try !canBeLocked(directory.path(name), attempts: 10))
            try file.publish()
        }
        #expect(try canBeLocked(path))
        #expect(try readFile(path) == Array("one".utf8))
    }
}
