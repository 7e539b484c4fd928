import SheafBytes

/// A type that resolves the stamp references of encoded entries.
protocol StampSource {
    func stamp(_ reference: UInt32) throws(Malformed) -> Stamp
}

extension EncodedHeader: StampSource {}

extension EncodedEntry {
    /// Returns the stamp of an entry: that of its reference, or else that of the root.
    @inline(__always)
    func stamp(_ stamps: some StampSource, root: Stamp?) throws(Malformed) -> Stamp {
        if hasReference { return try stamps.stamp(try reference()) }
        guard let root else { throw .invalid("an entry without a stamp", at: start) }
        return root
    }

    /// Returns the reference of a sum to its epoch.
    func epochReference() throws(Malformed) -> UInt32 {
        try EncodedEntry.reference(
            base, at: try payload().lowerBound, width: referenceWidth, end: end)
    }
}
