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
    /// Why there can be no power cuts here; none where there can.
    static var obstacle: String? {
        #if os(Linux)
            guard geteuid() == 0 else { return "only root may mount a file system" }
            guard access("/dev/loop-control", R_OK | W_OK) == 0 else {
                return "there are no loop devices"
            }
            for tool in ["mkfs.ext4", "mount", "umount"] {
                let found = (try? ChildProcess.run("which", [tool]))?.code == 0
                guard found else { return "\(tool) is missing" }
            }
            return nil
        #else
            return "only Linux can shut a file system down"
        #endif
    }

    /// Cuts the power under load again and again, and expects the commits each time.
    static func run(rounds roundCount: Int, seed: UInt64) throws -> String {
        let directory = TemporaryDirectory()
        let image = directory.path("disk")
        let mountPoint = directory.path("mounted")
        try makeImage(image)
        guard mkdir(mountPoint, 0o700) == 0 else {
            throw CrashFailure("cannot make \(mountPoint)")
        }
        var random = SeededRandom(seed: seed, "power")
        var rounds = Rounds()
        try call("mount", ["-o", "loop", image, mountPoint])
        // Without this a failure would leave the file system mounted for good.
        defer { _ = try? ChildProcess.run("umount", [mountPoint]) }
        let path = mountPoint + "/store"
        for round in 0..<roundCount {
            do {
                let child = try Rounds.start("load", path)
                _ = try rounds.watch(child, &random)
                // What is printed from now on may have been acknowledged by a disk that is gone.
                try shutDown(mountPoint)
                child.kill()
                _ = child.wait()
                rounds.skipUnread()
                try call("umount", [mountPoint])
                try call("mount", ["-o", "loop", image, mountPoint])
                try rounds.check(path)
            } catch {
                throw CrashFailure("seed \(seed), round \(round): \(error)")
            }
        }
        return "\(roundCount) power cuts on ext4; \(rounds.total) acknowledged commits, 0 lost"
    }

    private static func makeImage(_ path: String) throws {
        let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0, ftruncate(file, 128 << 20) == 0 else {
            throw CrashFailure("cannot make \(path)")
        }
        _ = close(file)
        try call("mkfs.ext4", ["-q", "-F", path])
    }

    private static func call(_ program: String, _ arguments: [String]) throws {
        let (code, _) = try ChildProcess.run(program, arguments)
        guard code == 0 else { throw CrashFailure("\(program) ended with \(code)") }
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
