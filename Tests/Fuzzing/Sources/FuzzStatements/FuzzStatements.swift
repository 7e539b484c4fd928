import SheafQuery

/// What libFuzzer calls with each input; it keeps what reaches code that was not reached before.
///
/// A statement that can be read is written and read again, and must stay what it is.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    do throws(QueryError) {
        let written = try Parser.parse(text).description
        do throws(QueryError) {
            let again = try Parser.parse(written).description
            if again != written { fatalError("\(written)\nis read as\n\(again)") }
        } catch {
            // What is written may be longer than what was read: names in it get backticks.
            if error.reason != .limit { fatalError("\(written)\nis not read: \(error)") }
        }
    } catch {
        if error.description.isEmpty { fatalError("an error says nothing") }
    }
    return 0
}
