/// The segment files of a store at one moment, found by segment number.
package final class SegmentTable: Sendable {
    /// Each file once, in the order of their segments.
    package let files: [Segment]

    /// The same, for those who keep the table meanwhile: to count references to each file that a scan
    /// comes to would take as long as to read it.
    private let references: [Unmanaged<Segment>]
    /// The segments of each file.
    private let numbers: [ClosedRange<UInt32>]

    init(_ files: [Segment] = []) {
        self.files = files
        references = files.map { Unmanaged.passUnretained($0) }
        numbers = files.map(\.header.segments)
    }

    /// The file that holds the positions of segment `number`, as long as the table is kept.
    @inline(__always)
    func reference(_ number: UInt32) -> Unmanaged<Segment>? {
        guard let first = numbers.first?.lowerBound, number >= first else { return nil }
        // Where nothing was folded together, files are counted as segments are.
        let guess = Int(number &- first)
        if guess < numbers.count, numbers[guess].contains(number) { return references[guess] }
        return segment(number).map { Unmanaged.passUnretained($0) }
    }

    /// The last segment's number; zero in a store without segments.
    package var lastNumber: UInt32 { files.last?.header.segments.upperBound ?? 0 }

    /// The file that holds the positions of segment `number`.
    @inline(__always)
    func segment(_ number: UInt32) -> Segment? {
        var low = 0
        var high = files.count
        while low < high {
            let middle = (low + high) / 2
            if files[middle].header.segments.upperBound < number {
                low = middle + 1
            } else {
                high = middle
            }
        }
        guard low < files.count, files[low].header.segments.contains(number) else { return nil }
        return files[low]
    }

    /// Whether all files of another table are in this one, so that what lies in them stays readable.
    package func holds(_ other: SegmentTable) -> Bool {
        guard other !== self else { return true }
        guard other.files.count <= files.count else { return false }
        return zip(files, other.files).allSatisfy { $0 === $1 }
    }

    /// The table with one more segment at its end.
    func appending(_ segment: Segment) -> SegmentTable {
        precondition(
            segment.header.segments.lowerBound > lastNumber, "Segments follow each other.")
        return SegmentTable(files + [segment])
    }

    /// The table in which a base file stands for the segments that it holds.
    func replacing(with base: Segment) -> SegmentTable {
        var kept: [Segment] = []
        for file in files {
            if !file.header.segments.overlaps(base.header.segments) {
                kept.append(file)
            } else if kept.last !== base {
                kept.append(base)
            }
        }
        return SegmentTable(kept)
    }

    /// That what lies at a position is not what it has to be.
    package func disagreement(at position: LogPosition, _ reason: String) -> StorageError {
        let name = segment(position.segment)?.name ?? FileName.name(ofSegment: position.segment)
        return .damaged(name, at: position.offset, reason)
    }

    /// The operation that was first written at `position`; nothing when it was folded away.
    package func operation(at position: LogPosition) throws(StorageError) -> Operation? {
        let segment = try file(of: position)
        do throws(FormatError) {
            return try segment.operation(at: position)
        } catch {
            throw StorageError(error, file: segment.name)
        }
    }

    /// The same with the commit that wrote it.
    package func loggedOperation(
        at position: LogPosition
    ) throws(StorageError) -> LoggedOperation? {
        let segment = try file(of: position)
        do throws(FormatError) {
            return try segment.operationAndCommit(at: position)
        } catch {
            throw StorageError(error, file: segment.name)
        }
    }

    /// Returns the first operation of the commit that wrote an operation; nil if it is no longer known.
    func firstOperation(
        ofCommitOf logged: LoggedOperation
    ) throws(StorageError) -> Operation? {
        let segment = try file(of: logged.position)
        do throws(FormatError) {
            return try segment.firstOperation(ofCommitOf: logged)
        } catch {
            throw StorageError(error, file: segment.name)
        }
    }

    /// Calls `body` with what the extension at `position` stands on, the newest first; false where
    /// that is not found up to its put, since it was folded away or is damaged.
    func forEachFoundation(of position: LogPosition, _ body: (Place) -> Void) -> Bool {
        var limit = position
        guard var found = (try? operation(at: position)) ?? nil else { return false }
        while found.kind == .extend {
            let previous = found.previous
            guard previous != .none, previous < limit,
                let next = (try? operation(at: previous)) ?? nil, next.kind != .remove
            else { return false }
            body(
                Place(
                    position: previous, length: next.length, isExtension: next.kind == .extend))
            limit = previous
            found = next
        }
        return true
    }

    private func file(of position: LogPosition) throws(StorageError) -> Segment {
        guard let segment = segment(position.segment) else {
            throw .damaged(
                FileName.name(ofSegment: position.segment), at: position.offset,
                "the tree points into a segment that is not there")
        }
        return segment
    }
}
