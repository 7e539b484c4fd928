import SheafBytes
package import SheafDocument
import SheafStorage

/// The clock and the stamps of a store that are ahead of the system clock.
package struct ClockSurvey: Sendable {
    /// The latest stamp of one site in a document.
    package struct Line: Sendable {
        package let collection: String
        package let id: Value
        package let stamp: Stamp
        /// The lead of the stamp over the local clock, in milliseconds.
        package let aheadMilliseconds: UInt64
        /// Number of stamps of that site that are ahead.
        package let count: Int
    }

    /// Milliseconds that the clock for the next write is ahead; nil if it is not ahead.
    package let clockAheadMilliseconds: UInt64?

    /// Compares the clock of a store with the system clock.
    package init(
        of snapshot: DocumentSnapshot, at wallMilliseconds: UInt64
    ) throws(EngineError) {
        let site = try DocumentEngine.siteRecord(of: snapshot.log)
        let latest = site?.clock?.milliseconds ?? snapshot.log.commitAt
        clockAheadMilliseconds = latest > wallMilliseconds ? latest - wallMilliseconds : nil
    }

    /// Calls `body` with the latest stamp of each site in each document, if it is ahead.
    package static func forEachLine(
        of snapshot: DocumentSnapshot, aheadOf wallMilliseconds: UInt64,
        _ body: (Line) -> Void
    ) throws(EngineError) {
        try forEachDocument(of: snapshot, aheadOf: wallMilliseconds) {
            (key, address, stamps, _) throws(EngineError) in
            let id = try onDocument(key) { () throws(Malformed) in
                try DocumentID.id(of: address.id)
            }
            let sites = Dictionary(grouping: stamps, by: \.site)
            for (_, stamps) in sites.sorted(by: { $0.key < $1.key }) {
                guard let latest = stamps.max() else { continue }
                body(
                    Line(
                        collection: address.collection, id: id, stamp: latest,
                        aheadMilliseconds: latest.time.milliseconds - wallMilliseconds,
                        count: stamps.count))
            }
        }
    }

    /// Calls `body` with each document that has stamps ahead, with these stamps and its length.
    static func forEachDocument(
        of snapshot: DocumentSnapshot, aheadOf wallMilliseconds: UInt64,
        _ body: ([UInt8], DocumentAddress, Set<Stamp>, Int) throws(EngineError) -> Void
    ) throws(EngineError) {
        try snapshot.log.tree.forEach(in: StoreKey.documents) { (key, _) throws(EngineError) in
            let key = Array(key)
            guard let address = snapshot.address(of: key),
                let document = try snapshot.document(key), !document.isRemnant
            else { return true }
            let (stamps, length) = try onDocument(key) { () throws(Malformed) in
                try document.read { (bytes) throws(Malformed) in
                    (
                        try EncodedDocument(bytes).stamps(ahead: wallMilliseconds), bytes.count
                    )
                }
            }
            if !stamps.isEmpty { try body(key, address, stamps, length) }
            return true
        }
    }
}
