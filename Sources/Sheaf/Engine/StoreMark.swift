import SheafBytes
import SheafDocument
import SheafStorage

/// What tells the files of a store from a copy of them, in one opening.
///
/// ```
/// opening ──> first commit: a new file is made durable, then the log names it ──> older ones go
/// ```
/// An opening that writes nothing makes no file. After a crash before the log names the new file, the one
/// that it named before is still there.
struct StoreMark: Sendable {
    /// What the log says: of the directory and a file in it; 0 where the system knows of none.
    private(set) var identity: UInt64 = 0
    /// Whether the files are those that the log names.
    private(set) var isKnown = true
    /// Whether a file is made before the next commit.
    private(set) var isDue = false
    /// The files of earlier openings.
    private var older: [SiteMark] = []

    init() {}

    /// Looks for the file that the log names.
    init(of store: StoreEngine, _ known: SiteRecord?) throws(EngineError) {
        let directory = store.directoryIdentity
        identity = directory
        guard store.hasSiteMarks else {
            isKnown = known?.isOf(directory: directory) ?? false
            return
        }
        isDue = true
        older = try onStorage { () throws(StorageError) in try store.siteMarks() }
        guard let known else {
            isKnown = false
            return
        }
        // A record without a directory identity was written before there were mark files.
        isKnown =
            known.directory == 0
            || older.contains { known.directory == $0.hash(in: directory) }
    }

    /// Makes the file of this opening, unless it is there.
    mutating func make(in store: StoreEngine) throws(EngineError) {
        guard isDue else { return }
        let made = try onStorage { () throws(StorageError) in try store.makeSiteMark() }
        identity = made.hash(in: store.directoryIdentity)
        isDue = false
    }

    /// Notes that the log names the file: those of earlier openings go once that is durable.
    mutating func noteWritten(by commit: CommitID, in store: StoreEngine) {
        store.remove(older, whenDurable: commit)
        older = []
    }
}

extension SiteMark {
    /// The hash of the file and its directory, little-endian; never 0.
    fileprivate func hash(in directory: UInt64) -> UInt64 {
        withUnsafeBytes(of: (directory.littleEndian, identity.littleEndian)) {
            max(XXH3.hash64($0), 1)
        }
    }
}
