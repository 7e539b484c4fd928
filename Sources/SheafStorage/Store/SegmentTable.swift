/// The segment files of a store at one point in time, by segment number.
package final class SegmentTable: Sendable {
    /// The files, sorted by segment.
    package let files: [Segment]

    /// Unretained references to `files`, for scans that keep the table alive.
    ///
    /// Counting references for each file would take as long as reading an operation.
    private let references: [Unmanaged<Segment>]
    /// The segment range of each file.
    private let numbers: [ClosedRange<UInt32>]

    init(_ files: [Segment] = []) {
        self.files = files
        references = files.map { Unmanaged.passUnretained($0) }
        numbers = files.map(\.header.segments)
    }

    /// Returns the file that holds the positions of segment `number`, without retaining it.
    @inline(__always)
    func reference(_ number: UInt32) -> Unmanaged<Segment>? {
        guard let first = numbers.first?.lowerBound else { return nil }
        // Without base files, the index follows from the segment number.
        let guess = number &- first
        if guess < numbers.count, numbers[Int(guess)].contains(number) {
            return references[Int(guess)]
        }
        return segment(number).map { Unmanaged.passUnretained($0) }
    }

    /// Prefetches the beginning of the operation at a position.
    @inline(__always)
    func fetch(_ position: LogPosition, _ trace: inout UInt64) {
        reference(position.segment)?._withUnsafeGuaranteedRef { segment in
            segment.fetch(position.offset, &trace)
        }
    }

    /// The number of the last segment; zero in an empty store.
    package var lastNumber: UInt32 { files.last?.header.segments.upperBound ?? 0 }

    /// Returns the file that holds the positions of segment `number`.
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

    /// Whether this table contains all files of another, so that their bytes remain readable.
    package func contains(_ other: SegmentTable) -> Bool {
        guard other !== self else { return true }
        guard other.files.count <= files.count else { return false }
        return zip(files, other.files).allSatisfy { $0 === $1 }
    }

    /// Returns the table with one more segment at its end.
    func appending(_ segment: Segment) -> SegmentTable {
        precondition(
            segment.header.segments.lowerBound > lastNumber, "Segments are in ascending order.")
        return SegmentTable(files + [segment])
    }

    /// Returns the table with a base file in place of the segments it replaces.
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

    /// Creates an error for bytes at a position that contradict the tree.
    package func disagreement(at position: LogPosition, _ reason: String) -> StorageError {
        let name = segment(position.segment)?.name ?? FileName.name(ofSegment: position.segment)
        return .damaged(name, at: position.offset, reason)
    }

    /// Returns the operation originally written at `position`; nil if it was compacted away.
    package func operation(at position: LogPosition) throws(StorageError) -> Operation? {
        let segment = try file(of: position)
        do throws(FormatError) {
            return try segment.operation(at: position)
        } catch {
            throw StorageError(error, file: segment.name)
        }
    }

    /// Returns the operation written at `position` and its commit; nil if it was compacted away.
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

    /// Returns the first operation of the commit that wrote an operation; nil if it is unavailable.
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

    /// Calls `body` with the operations on which the delta at `position` is based, newest first.
    ///
    /// Returns false if the put is not reached because it was compacted away or is damaged.
    func forEachFoundation(of position: LogPosition, _ body: (RecordPointer) -> Void) -> Bool {
        var limit = position
        guard var found = (try? operation(at: position)) ?? nil else { return false }
        while found.kind == .delta {
            let previous = found.previous
            guard previous != .none, previous < limit,
                let next = (try? operation(at: previous)) ?? nil, next.kind != .remove
            else { return false }
            body(
                RecordPointer(
                    position: previous, length: next.length, isDelta: next.kind == .delta))
            limit = previous
            found = next
        }
        return true
    }

    private func file(of position: LogPosition) throws(StorageError) -> Segment {
        guard let segment = segment(position.segment) else {
            throw .damaged(
                FileName.name(ofSegment: position.segment), at: position.offset,
                "the tree points to a segment that does not exist")
        }
        return segment
    }
}
