import Engine
import Streams

@main
enum WeirConversionUpdates {
    static func main() {
        StreamWorker<ConversionUpdatesFold>.start()
    }
}
