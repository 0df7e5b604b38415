"""A network of one hidden layer, and one step of gradient descent."""

from dataclasses import dataclass

import numpy as np

from digits.dataset import Images, Labels

PIXELS = 64
DIGITS = 10


@dataclass
class Network:
    """Weights of shape (64, hidden) and (hidden, 10), with their biases."""

    hidden_weights: Images
    hidden_bias: Images
    output_weights: Images
    output_bias: Images

    @classmethod
    def fresh(cls, *, hidden_units: int, rng: np.random.Generator) -> "Network":
        """Start with small random weights, scaled for rectified units."""
        return cls(
            hidden_weights=rng.normal(scale=np.sqrt(2 / PIXELS), size=(PIXELS, hidden_units)),
            hidden_bias=np.zeros(hidden_units),
            output_weights=rng.normal(scale=np.sqrt(2 / hidden_units), size=(hidden_units, DIGITS)),
            output_bias=np.zeros(DIGITS),
        )

    def predict(self, images: Images) -> Labels:
        """Return the likeliest digit for each image."""
        hidden = np.maximum(images @ self.hidden_weights + self.hidden_bias, 0)
        return np.asarray(np.argmax(hidden @ self.output_weights + self.output_bias, axis=1))

    def learn(self, images: Images, labels: Labels, *, learning_rate: float) -> float:
        """Take one step down the gradient of the cross entropy; return the loss before it."""
        hidden = np.maximum(images @ self.hidden_weights + self.hidden_bias, 0)
        logits = hidden @ self.output_weights + self.output_bias
        logits -= logits.max(axis=1, keepdims=True)
        likelihood = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        rows = np.arange(len(labels))
        loss = float(-np.log(likelihood[rows, labels]).mean())

        slope = likelihood
        slope[rows, labels] -= 1
        slope /= len(labels)
        hidden_slope = (slope @ self.output_weights.T) * (hidden > 0)
        self.output_weights -= learning_rate * hidden.T @ slope
        self.output_bias -= learning_rate * slope.sum(axis=0)
        self.hidden_weights -= learning_rate * images.T @ hidden_slope
        self.hidden_bias -= learning_rate * hidden_slope.sum(axis=0)
        return loss
