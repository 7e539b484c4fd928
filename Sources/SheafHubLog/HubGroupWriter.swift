import SheafBytes
package import SheafDocument
import SheafSync

/// An encoder of a group: documents that a reader applies atomically (`format-spec/hub.md`,
/// table 3).
package struct HubGroupWriter: Sendable {
    private let commit: UInt64
    private let stamp: Stamp?
    /// The pauses that precede the first segment; nil afterwards.
    private var pauses: [SitePauses]?
    private var raw = CommitWriter()
    private var segments = ShippedSegmentWriter()
    private var freshNames: [[UInt8]] = []
    private var output = ByteWriter()
    private var last: DocumentAddress?
    /// The names that documents of the group refer to by their numbers.
    package private(set) var names = NameTable()

    /// Length in bytes at which a segment ends.
    private static let segmentTarget = 128 << 10

    /// Begins a group.
    ///
    /// - Parameter commit: The number of `HubMessage.Extent.commit`.
    /// - Parameter stamp: The stamp of the only commit of the group, if it has one.
    package init(commit: UInt64, stamp: Stamp? = nil, pauses: [SitePauses] = []) {
        precondition(
            pauses.count <= HubLimits.pausedSites, "A group has pauses of few sites.")
        self.commit = commit
        self.stamp = stamp
        self.pauses = pauses
        raw.begin(commit, stamp: stamp)
    }

    /// Length of the finished segments.
    package var count: Int { output.count }

    /// Length of all documents before compression, about: that which readers limit.
    package var expandedLength: Int { segmentsLength + raw.count }
    private var segmentsLength = 0

    /// Assigns a number to a name; returns nil when none is left, or if the name is too long.
    package mutating func number(_ name: [UInt8]) -> UInt16? {
        if let number = names.number(of: name) { return number }
        guard names.count < SyncLimits.names, let number = names.add(name) else { return nil }
        freshNames.append(name)
        return number
    }

    /// Adds the complete state of a document, encoded with the names of the group.
    ///
    /// Documents are added in the order of their addresses.
    package mutating func add(
        _ address: DocumentAddress, _ state: UnsafeRawBufferPointer, unproven: [[UInt8]] = []
    ) {
        precondition(
            last.map { $0 < address } ?? true, "The documents of a group ascend by address.")
        if raw.count >= Self.segmentTarget {
            endSegment(isContinued: true)
            raw.begin(commit, stamp: stamp)
        }
        address.id.withUnsafeBytes {
            raw.add(address.collection, id: $0, .state, state, unproven: unproven)
        }
        last = address
    }

    /// Ends the group, and returns the payload of its messages.
    package mutating func finish() -> [UInt8] {
        endSegment(isContinued: false)
        return output.bytes
    }

    private mutating func endSegment(isContinued: Bool) {
        raw.end(isContinued: isContinued)
        var segment = ByteWriter(capacity: raw.count + 64)
        if let pauses { segment.writePauses(pauses) }
        pauses = nil
        WireNameDictionary.write(freshNames, into: &segment)
        freshNames = []
        segment.write(raw.bytes)
        segmentsLength += segment.count
        raw.removeAll()
        let block = segments.bytes(of: segment.bytes)
        block.withUnsafeBytes { output.writeLengthPrefixed($0) }
    }
}

extension ByteWriter {
    /// Writes the pauses of sites, as groups and manifests have them.
    mutating func writePauses(_ sites: [SitePauses]) {
        writeVarint(UInt64(sites.count))
        for site in sites {
            write(site.site.rawValue)
            write(UInt8(site.pauses.count))
            write(site.pauses)
        }
    }
}

extension ByteReader {
    /// Reads the pauses of sites; each has one to sixteen, and none occurs twice.
    mutating func readSitePauses() throws(Malformed) -> [SitePauses] {
        let count = try readCount(of: "sites with pauses", limit: HubLimits.pausedSites, size: 25)
        var sites: [SitePauses] = []
        for _ in 0..<count {
            let start = offset
            let site = Site(rawValue: try readUInt64())
            guard site != .initial, sites.last.map({ $0.site < site }) ?? true else {
                throw .invalid("sites with pauses that do not ascend from 1 on", at: start)
            }
            let countStart = offset
            let count = try readUInt8()
            guard 1...WritePause.maximumCount ~= Int(count) else {
                throw .unexpected(count, at: countStart)
            }
            sites.append(SitePauses(site: site, pauses: try readPauses(count: Int(count))))
        }
        return sites
    }
}
