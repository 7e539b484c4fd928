import SheafBytes

extension StoreDirectory {
    /// Returns the identifier of the store; throws if no file contains a valid one.
    func identity(in volume: any Volume) throws(StorageError) -> StoreID {
        if let store { return store }
        if let guess = try guessedStore(volume) { return guess }
        if let first = files.first ?? unbegun.first {
            throw .damaged(
                first.name, at: SegmentHeader.Layout.storeLow,
                "no file contains a valid store identifier; pass the identifier of the store")
        }
        if let finding = findings.first {
            throw .damaged(finding.file, at: finding.offset, finding.reason)
        }
        let named = DurableCommit.newest(
            namedBy: checkpoints + closedMarks, in: volume, store: nil)
        guard let named else { throw .notAStore(path: volume.path) }
        throw .damaged(
            FileName.name(ofSegment: 1), at: 0,
            "all log files are missing, but \(named.file) names commit \(named.commit); only log "
                + "files contain documents: put those that still exist elsewhere back, and salvage "
                + "again, or restore a backup")
    }

    /// Returns a store identifier that validates the checksum of a record or footer.
    private func guessedStore(_ volume: any Volume) throws(StorageError) -> StoreID? {
        var guesses: [StoreID] = []
        for (_, name) in checkpoints {
            let loaded: FileLoader.Loaded
            do throws(VolumeError) {
                loaded = try FileLoader.load(name, from: volume)
            } catch {
                guard !error.code.isAboutProcess else { throw StorageError(error) }
                continue
            }
            typealias Layout = Checkpoint.Layout
            guesses += Self.storeID(
                in: loaded.mapping, low: Layout.storeLow, high: Layout.storeHigh)
        }
        for file in files + unbegun {
            typealias Layout = SegmentHeader.Layout
            guesses += Self.storeID(in: file.mapping, low: Layout.storeLow, high: Layout.storeHigh)
        }
        return guesses.first { guess in
            (files + unbegun).contains { file in
                SegmentFooter.last(in: file.bytes, store: guess) != nil
                    || (try? Record(
                        decoding: file.bytes, at: SegmentHeader.length,
                        segment: file.segments.lowerBound, store: guess)) != nil
            }
        }
    }

    private static func storeID(in mapping: FileMapping, low: Int, high: Int) -> [StoreID] {
        guard mapping.count >= SegmentHeader.length else { return [] }
        return withExtendedLifetime(mapping) {
            [StoreID(low: mapping.bytes.loadInteger(low), high: mapping.bytes.loadInteger(high))]
        }
    }
}
