import SheafBytes
import SheafDocument
import SheafStorage

/// The identity of the files of a store, which distinguishes them from a copy.
///
/// ```
/// opening ──> first commit: new mark file is durable ──> log names it ──> older ones are removed
/// ```
/// An opening without writes creates no file. If the store crashes before the log names the new
/// file, the file that the log names still exists.
struct StoreMark: Sendable {
    /// The identity in the log, a hash of the directory and its mark file; 0 if unsupported.
    private(set) var identity: UInt64
    /// Whether the files are those that the log names.
    let matchesLog: Bool
    /// Whether a mark file must be created before the next commit.
    private(set) var needsFile = false
    /// The mark files of earlier openings.
    private var older: [SiteMark]

    /// Looks for the mark file that the log names.
    package init(of store: StoreEngine, _ known: SiteRecord?) throws(EngineError) {
        let directory = store.directoryIdentity
        identity = directory
        older = try onStorage { () throws(StorageError) in try store.siteMarks() }
        guard store.hasSiteMarks else {
            // Without identities no mark is made here, so an existing one marks a copy.
            matchesLog = older.isEmpty && (known?.isOf(directory: directory) ?? false)
            return
        }
        needsFile = true
        guard let known else {
            matchesLog = false
            return
        }
        // A site record without an identity is of a store without marks; a copy of it has one.
        matchesLog =
            known.directory == 0
            ? older.isEmpty : older.contains { known.directory == $0.hash(in: directory) }
    }

    /// Creates the mark file of this opening, unless it exists.
    mutating func create(in store: StoreEngine) throws(EngineError) {
        guard needsFile else { return }
        let made = try onStorage { () throws(StorageError) in try store.makeSiteMark() }
        identity = made.hash(in: store.directoryIdentity)
        needsFile = false
    }

    /// Records that the log names the mark file; older files are removed once that is durable.
    mutating func markWritten(by commit: CommitID, in store: StoreEngine) {
        store.remove(older, whenDurable: commit)
        older = []
    }
}

extension SiteMark {
    /// Returns the hash of the file and its directory, little-endian; never 0.
    fileprivate func hash(in directory: UInt64) -> UInt64 {
        withUnsafeBytes(of: (directory.littleEndian, identity.littleEndian)) {
            max(XXH3.hash64($0), 1)
        }
    }
}
