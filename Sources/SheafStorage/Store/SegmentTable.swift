/// The segment files of a store at one moment, found by segment number.
package final class SegmentTable: Sendable {
    /// The file of segment n at n - 1; a base file stands at each of its numbers.
    private let byNumber: [Segment]

    init(_ byNumber: [Segment] = []) {
        self.byNumber = byNumber
    }

    /// The last segment's number; zero in a store without segments.
    package var lastNumber: UInt32 { UInt32(byNumber.count) }

    /// The file that holds the positions of segment `number`.
    @inline(__always)
    func segment(_ number: UInt32) -> Segment? {
        guard number >= 1, number <= byNumber.count else { return nil }
        return byNumber[Int(number) - 1]
    }

    /// Each file once, in order.
    package var files: [Segment] {
        var files: [Segment] = []
        for segment in byNumber where files.last !== segment { files.append(segment) }
        return files
    }

    /// The table with one more segment at its end.
    func appending(_ segment: Segment) -> SegmentTable {
        precondition(
            segment.header.segments.lowerBound == lastNumber + 1, "Segments follow each other.")
        return SegmentTable(byNumber + segment.header.segments.map { _ in segment })
    }

    /// The table in which a base file stands for the segments that it holds.
    func replacing(with base: Segment) -> SegmentTable {
        var byNumber = byNumber
        for number in base.header.segments { byNumber[Int(number) - 1] = base }
        return SegmentTable(byNumber)
    }

    /// The operation that was first written at `position`; nothing when it was folded away.
    package func operation(at position: LogPosition) throws(StorageError) -> Operation? {
        guard let segment = segment(position.segment) else {
            throw .damaged(
                FileName.name(ofSegment: position.segment), at: position.offset,
                "the tree points into a segment that is not there")
        }
        do throws(FormatError) {
            return try segment.operation(at: position)
        } catch {
            throw StorageError(error, file: segment.name)
        }
    }
}
