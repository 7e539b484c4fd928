import SheafBytes
import SheafDocument
import SheafStorage

/// Decides which names get numbers, and knows which of them the log has.
///
/// A name that was met in two documents gets one: names that come once, like ids in the place of
/// names, would fill the table.
struct NameRegistry: Sendable {
    private var writtenNames: Int
    private var writtenCollections: Int
    private var sightings: Set<UInt64> = []

    /// More are forgotten: what is met often is met again.
    private static let maximumSightings = 1 << 14

    /// Begins with what the log has.
    init(_ directory: Directory) {
        writtenNames = directory.names.count
        writtenCollections = directory.collections.count
    }

    /// Notes that a document spells a name.
    mutating func note(_ name: [UInt8], in directory: inout Directory) {
        guard directory.names.number(of: name) == nil else { return }
        let hash = name.withUnsafeBytes { XXH3.hash64($0) }
        guard !sightings.insert(hash).inserted else {
            if sightings.count > Self.maximumSightings { sightings = [hash] }
            return
        }
        sightings.remove(hash)
        directory.add(name: name)
    }

    /// Adds what the log does not have yet to a batch.
    func write(_ directory: Directory, into batch: inout WriteBatch) throws(StorageError) {
        for number in writtenNames..<directory.names.count {
            guard let name = directory.names.name(number) else { continue }
            try batch.put(StoreKey.name(UInt16(number)).bytes, Array(name.utf8))
        }
        for number in writtenCollections..<directory.collections.count {
            try batch.put(
                StoreKey.collection(UInt16(number)).bytes,
                Array(directory.collections[number].utf8))
        }
    }

    /// Notes that the log has all of it.
    mutating func noteWritten(_ directory: Directory) {
        writtenNames = directory.names.count
        writtenCollections = directory.collections.count
    }
}
