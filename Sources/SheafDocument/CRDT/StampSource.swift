import SheafBytes

/// What knows the stamps that references mean.
protocol StampSource {
    func stamp(_ reference: UInt32) throws(Malformed) -> Stamp
}

extension EncodedHeader: StampSource {}

extension EncodedEntry {
    /// When an entry was written: what it says, or what the root says for all that do not.
    @inline(__always)
    func stamp(_ stamps: some StampSource, root: Stamp?) throws(Malformed) -> Stamp {
        if hasReference { return try stamps.stamp(try reference()) }
        guard let root else { throw .invalid("an entry without a stamp", at: start) }
        return root
    }

    /// The reference of a sum to the restart that it counts from.
    func epochReference() throws(Malformed) -> UInt32 {
        try EncodedEntry.reference(
            base, at: try payload().lowerBound, width: referenceWidth, end: end)
    }
}
