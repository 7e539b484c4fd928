extension LogSnapshot {
    /// Returns the end of the last segment up to which two logs are the same.
    ///
    /// A chain hash includes all segments before it, and compaction keeps it, so equal hashes at
    /// the end of a segment prove that the same commits precede it.
    package func commonEnd(with other: LogSnapshot) -> LogPosition {
        let (own, others) = (boundaries, other.boundaries)
        var index = others.count
        for boundary in own.reversed() {
            while index > 0, others[index - 1].segment > boundary.segment { index -= 1 }
            guard index > 0, others[index - 1] == boundary else { continue }
            return LogPosition(segment: boundary.segment, offset: Int(UInt32.max))
        }
        return .none
    }

    /// Whether both logs have the same commits, and so the same state.
    package func isSameLog(as other: LogSnapshot) -> Bool {
        if commit == 0, other.commit == 0 { return true }
        guard let store = segments.files.first?.header.store,
            store == other.segments.files.first?.header.store
        else { return false }
        return commit == other.commit && commitAt == other.commitAt && end == other.end
            && chain == other.chain
    }

    /// The end of a sealed segment and the hash of the log up to it.
    private struct Boundary: Equatable {
        let store: StoreID
        let segment: UInt32
        let chainHash: UInt64
    }

    private var boundaries: [Boundary] {
        segments.files.compactMap { file in
            guard let footer = file.footer else { return nil }
            // The last segment may have been sealed after the snapshot was made.
            return Boundary(
                store: file.header.store, segment: file.header.segments.upperBound,
                chainHash: footer.chainHash)
        }
    }
}
