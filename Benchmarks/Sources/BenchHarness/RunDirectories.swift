import Dispatch
import Glibc

/// The data directories of a run: one on a disk, one in memory.
struct RunDirectories {
    let disk: Folder
    let memory: Folder
    /// The name of the file system under `disk`.
    let fileSystem: String
    /// Reasons why some figures are invalid.
    private(set) var warnings: [String] = []

    private static let sharedMemory = "/dev/shm"

    /// Creates the disk directory under `directory`; if nil, under the first candidate on a disk.
    init(directory: String?) throws {
        let candidates = directory.map { [$0] } ?? Self.candidates
        let isDisk = { (path: String) in
            Folder.fileSystem(of: path).map { !$0.isMemory } ?? false
        }
        let parent = candidates.first(where: isDisk) ?? candidates.first ?? "."
        disk = try Folder.fresh(under: parent)
        memory = (try? Folder.fresh(under: Self.sharedMemory)) ?? disk
        let kind = Folder.fileSystem(of: disk.path)
        fileSystem = kind?.name ?? "unknown file system"
        if kind?.isMemory ?? false {
            warnings.append(
                "\(parent) is in memory (\(fileSystem)), so durable figures are invalid."
                    + " Select a directory on a disk with --directory.")
        }
        if memory.path == disk.path {
            warnings.append("\(Self.sharedMemory) is not usable: LMDB's trees are on the disk.")
        }
    }

    /// A description of the directories for the log.
    var description: String {
        "\(disk.path) (\(fileSystem)); in memory: \(memory.path)"
    }

    /// Removes both directories.
    func remove() {
        disk.remove()
        memory.remove()
    }

    /// Removes both directories and exits on SIGINT and SIGTERM, until the sources are canceled.
    func removeOnInterruption() -> [any DispatchSourceSignal] {
        [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            let (disk, memory) = (disk, memory)
            source.setEventHandler {
                disk.remove()
                memory.remove()
                _exit(128 + number)
            }
            source.activate()
            return source
        }
    }

    private static var candidates: [String] {
        [".", getenv("TMPDIR").map { String(cString: $0) }, "/var/tmp"].compactMap { $0 }
    }
}
