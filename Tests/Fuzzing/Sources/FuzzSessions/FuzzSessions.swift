import SheafMesh

/// Runs the session probe on an input of libFuzzer.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    do {
        if let breach = try ReplicatorProbe.read(bytes) { fatalError(breach) }
    } catch {
        fatalError("a peer failed: \(error)")
    }
    return 0
}
