import SheafTestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A mounted file system in a file in a temporary directory.
final class LoopDisk {
    let image: String
    let mountPoint: String
    /// The temporary directory, kept until the file system is unmounted.
    private let directory: TemporaryDirectory

    /// Reason why this machine cannot mount such a file system; nil if it can.
    static var unavailableReason: String? {
        #if os(Linux)
            guard geteuid() == 0 else { return "only root may mount a file system" }
            guard access("/dev/loop-control", R_OK | W_OK) == 0 else {
                return "/dev/loop-control is not accessible"
            }
            return ["mkfs.ext4", "mount", "umount"].first { !isInstalled($0) }
                .map { "\($0) is missing" }
        #else
            return "only Linux has loop devices"
        #endif
    }

    static func isInstalled(_ program: String) -> Bool {
        (try? ChildProcess.run("which", [program]))?.code == 0
    }

    /// Creates and mounts an empty file system.
    init(
        in directory: TemporaryDirectory, name: String = "disk", fileSystem: String = "ext4",
        megabytes: Int = 128
    ) throws {
        self.directory = directory
        image = directory.path(name)
        mountPoint = directory.path(name + "-mounted")
        let file = open(image, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0, ftruncate(file, off_t(megabytes) << 20) == 0 else {
            throw CrashFailure("cannot create \(image)")
        }
        _ = close(file)
        let force = fileSystem == "ext4" ? "-F" : "-f"
        try Self.call("mkfs.\(fileSystem)", ["-q", force, image])
        guard mkdir(mountPoint, 0o700) == 0 else {
            throw CrashFailure("cannot create \(mountPoint)")
        }
        try mount()
    }

    /// Unmounts the file system, also after a failure.
    deinit { _ = try? ChildProcess.run("umount", [mountPoint]) }

    func mount() throws { try Self.call("mount", ["-o", "loop", image, mountPoint]) }

    func unmount() throws { try Self.call("umount", [mountPoint]) }

    static func call(_ program: String, _ arguments: [String]) throws {
        let (code, _) = try ChildProcess.run(program, arguments)
        guard code == 0 else {
            throw CrashFailure("\(program) \(arguments) ended with \(code)")
        }
    }
}
