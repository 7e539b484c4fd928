import SheafBytes
import SheafDocument

/// The lines of a complete export.
final class FullLines {
    private let input: InputBuffer
    /// Number of the last line, starting at 1.
    private(set) var number = 0
    /// Number of bytes that are known to contain no end of a line.
    private var searched = 0

    init(_ input: InputBuffer) {
        self.input = input
    }

    /// Calls `body` with the next line and its number; returns false at the end.
    func next(
        _ body: (UnsafeRawBufferPointer, Int) throws(ImportError) -> Void
    ) throws(ImportError) -> Bool {
        searched = 0
        while true {
            let bytes = input.bytes
            if let end = bytes[searched...].firstIndex(of: 0x0A) {
                number += 1
                try body(UnsafeRawBufferPointer(rebasing: bytes[..<end]), number)
                input.consume(end + 1)
                return true
            }
            guard !input.isAtEnd else {
                guard !bytes.isEmpty else { return false }
                throw .source(
                    "\(input.path.shortened) ends within line \(number + 1), so it is incomplete")
            }
            guard bytes.count <= JSONReader.maximumLength else {
                throw .source(
                    "\(input.path.shortened), line \(number + 1): a line has at most "
                        + "\(JSONReader.maximumLength) bytes")
            }
            searched = bytes.count
            try input.fill()
        }
    }
}
