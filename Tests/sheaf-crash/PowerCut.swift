import SheafStorage
import SheafTestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Power cuts of a loop-mounted file system under load.
enum PowerCut {
    /// Cuts the power under load `roundCount` times, and verifies the acknowledged commits.
    static func run(rounds roundCount: Int, seed: UInt64) throws -> String {
        let directory = TemporaryDirectory()
        let disk = try LoopDisk(in: directory)
        var random = SeededRandom(seed: seed, "power")
        var rounds = KillRounds()
        let path = disk.mountPoint + "/store"
        for round in 0..<roundCount {
            do {
                let child = try KillRounds.start("load", path)
                _ = try rounds.readOutput(child, &random)
                // Commits printed after this point may never have become durable.
                try shutDown(disk.mountPoint)
                child.kill()
                _ = child.wait()
                rounds.skipUnread()
                try disk.unmount()
                try disk.mount()
                try rounds.check(path)
            } catch {
                throw CrashFailure("seed \(seed), round \(round): \(error)")
            }
        }
        return "\(roundCount) power cuts on ext4; \(rounds.total) acknowledged commits, 0 lost"
    }

    /// Shuts down a file system without flushing, so that all non-durable bytes are lost.
    private static func shutDown(_ path: String) throws {
        #if os(Linux)
            let file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard file >= 0 else { throw CrashFailure("cannot open \(path)") }
            defer { _ = close(file) }
            // `FS_IOC_SHUTDOWN` has a flag that skips the journal flush.
            var flag: UInt32 = 2
            guard ioctl(file, 0x8004_587D, &flag) == 0 else {
                throw CrashFailure("the file system refuses to shut down: \(errno)")
            }
        #endif
    }
}
