import SheafDocument
import SheafQuery

/// Parses an input of libFuzzer.
///
/// The description of a parsed statement must parse to the same description.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    do throws(StoreError) {
        let written = try Parser.parse(text).description
        do throws(StoreError) {
            let again = try Parser.parse(written).description
            if again != written { fatalError("\(written)\nis parsed as\n\(again)") }
        } catch {
            // The description may exceed the length limit because it adds backticks to names.
            if error.reason != .limit { fatalError("\(written)\nfails to parse: \(error)") }
        }
    } catch {
        if error.description.isEmpty { fatalError("an error has no text") }
    }
    return 0
}
