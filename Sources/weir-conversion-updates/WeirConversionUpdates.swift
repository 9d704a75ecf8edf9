import Streams
import Worker

@main
enum WeirConversionUpdates {
    static func main() {
        StreamWorker<ConversionUpdatesFold>.start()
    }
}
