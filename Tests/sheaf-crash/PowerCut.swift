import SheafStorage
import SheafTestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Cuts the power of a file system of its own, in a file of a temporary directory.
enum PowerCut {
    /// Cuts the power under load again and again, and expects the commits each time.
    static func run(rounds roundCount: Int, seed: UInt64) throws -> String {
        let directory = TemporaryDirectory()
        let disk = try LoopDisk(in: directory)
        var random = SeededRandom(seed: seed, "power")
        var rounds = Rounds()
        let path = disk.mountPoint + "/store"
        for round in 0..<roundCount {
            do {
                let child = try Rounds.start("load", path)
                _ = try rounds.watch(child, &random)
                // What is printed from now on may have been acknowledged by a disk that is gone.
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

    /// Lets a file system forget everything that the disk does not have, its own log included.
    private static func shutDown(_ path: String) throws {
        #if os(Linux)
            let file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard file >= 0 else { throw CrashFailure("cannot open \(path)") }
            defer { _ = close(file) }
            // FS_IOC_SHUTDOWN, and the flag that keeps the file system from flushing its log.
            var flag: UInt32 = 2
            guard ioctl(file, 0x8004_587D, &flag) == 0 else {
                throw CrashFailure("the file system refuses to shut down: \(errno)")
            }
        #endif
    }
}
