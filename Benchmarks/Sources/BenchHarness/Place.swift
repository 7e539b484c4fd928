import Dispatch
import Glibc

/// Where the data of a run lives: on a disk, and for what is measured in memory, in memory.
struct Place {
    let disk: Folder
    let memory: Folder
    /// The kind of file system under `disk`.
    let fileSystem: String
    /// What makes durable figures worthless here.
    private(set) var warnings: [String] = []

    private static let sharedMemory = "/dev/shm"

    /// Makes fresh directories: under `directory`, or else under the first place that is a disk.
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
                "\(parent) is memory (\(fileSystem)): what is called durable here is not."
                    + " Name a directory on a disk with --directory.")
        }
        if memory.path == disk.path {
            warnings.append("\(Self.sharedMemory) is missing: LMDB's trees live on the disk.")
        }
    }

    /// A line about it for people.
    var description: String {
        "\(disk.path) (\(fileSystem)); in memory: \(memory.path)"
    }

    /// Removes everything.
    func remove() {
        disk.remove()
        memory.remove()
    }

    /// Removes everything also when somebody loses patience, until the sources are canceled.
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
