import DittoNames
import Testing
